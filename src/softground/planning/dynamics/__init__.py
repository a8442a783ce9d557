"""How one knot leads to the next: in closed form, or by solving the contact problem inside (bilevel)."""
