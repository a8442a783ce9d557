from softground.whole_file import remove_leftovers, write_whole

__all__ = ["remove_leftovers", "write_whole"]
