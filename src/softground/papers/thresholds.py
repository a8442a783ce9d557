"""What the studies of zhu2019 and zhu2021 are judged by: every threshold of their checks, each with its reason.

They stand here and nowhere else, so that one sees what is asked before a study is run. Where a threshold replaces one
that admitted almost anything, its reason says what that was.
"""

from __future__ import annotations


class Threshold(float):
    """A number that decides a check, and why it is that one."""

    reason: str

    def __new__(cls, value: float, reason: str) -> Threshold:
        found = super().__new__(cls, value)
        found.reason = reason
        return found

    def __getnewargs__(self) -> tuple[float, str]:  # for copies
        return float(self), self.reason


# -- zhu2019, Table II: concavity ----------------------------------------------------------------------------------

CONCAVE_SPACE = Threshold(0.10, "the paper's: concavity that only a few wrench spaces exceed (IV.B)")
FEW_CONCAVE = Threshold(0.05, "share: one space of twenty is a few (it was 0.15)")
CONVEX_ON_AVERAGE = Threshold(0.0174, "no medium of Table II is less convex (it was 0.05)")

# -- zhu2019, III.B.3: learning ------------------------------------------------------------------------------------

ALIKE = Threshold(1.3, "ratio of errors: the published method's over the noise of the sand, 0.272 / 0.209 (it was 1.6)")
BETTER = Threshold(1.0, "ratio of two errors, of two costs, or of the slip of two pairs of feet")

# -- zhu2019, Figs 7 and 8: a foot along a trajectory --------------------------------------------------------------

MATCHES = Threshold(0.30, "normalised error that resistive force theory claims for its own field (the paper's II)")
GROWS = Threshold(1.2, "last third over middle third of a way down at constant speed; in proportion to depth it is 2")
RIGHT_SIZE = Threshold(0.6, "normalised error: twice that of what matches; no force at all would err by 1")
RIGHT_TREND = Threshold(0.8, "correlation: two thirds of the variance (0.64) are explained")
STAYS_HIGH = Threshold(0.9, "share of its peak that a resistance which stays high has left at the deepest point")
DROPS = Threshold(0.8, "share that one which drops has left there: it loses twice what one that stays high may")
MEMORY_HELPS = Threshold(
    0.30,
    "share by which memory must lower the error, also on trajectories and beds that it was not identified on (it was a "
    "third, on the one that it was identified on)",
)

# -- zhu2019, Fig. 9: drop -----------------------------------------------------------------------------------------

ERECT = Threshold(0.5, "degrees: an even rod with nothing to tip it; its top moves by 3 mm")
BEGINS_TO_TIP = Threshold(0.5, "degrees: more than what stays erect")
BALANCES_BELOW = Threshold(30.0, "degrees: it has not fallen; lying is 90")
LIES = Threshold(60.0, "degrees: nearer to lying than to standing")
LIES_AT_MOST = Threshold(120.0, "degrees: as far beyond lying as the least that counts is before it")
AT_REST = Threshold(0.01, "m/s and rad/s, over the last tenth of a run: 3 mm and 3 mrad in 0.3 s")

# -- zhu2019, Fig. 10: push, trot, slide ---------------------------------------------------------------------------

ON_THE_REAR = Threshold(0.55, "share of the weight: a tenth more than an even half")
FRONT_SLIPS = Threshold(50.0, "mm: a foot's radius, of 180 mm that are commanded")
ONLY_THEY = Threshold(0.1, "slip of the feet that hold over that of those that slip")
DEEPER_ON_TWO = Threshold(1.0, "mm: ten times what half the time step changes in a sinkage")
SINKS_ON_TWO = Threshold(1.0, "mm: the same, of growth within a phase")
LIFTS_CLEAR = Threshold(20.0, "mm: of 150 mm that are commanded, less what the standing feet sink")
WALKS = Threshold(0.19, "m/s: half of the commanded step over its stance, 0.25 m in 0.65 s (it was 0.05)")
SLIDES = Threshold(0.5, "m/s: reached in 0.12 s of free sliding on 25 degrees, and never by what creeps")
FLAT = Threshold(5.0, "degrees where it stops, of 25 on the slope")
SHALLOWER = Threshold(10.0, "mm: a fifth of a foot's radius (it was 1)")
STOPS_HIGHER = Threshold(5.0, "J: twenty times what half the time step changes in it (it was 1)")
SAME_STOP = Threshold(0.02, "m, from a time step to half of it: half a per cent of the shortest way, 4 m")

# -- zhu2019, IV.C.4: speed ----------------------------------------------------------------------------------------

FASTER = Threshold(
    5000.0, "over the paper's frame: a fifth of what a quiet core measured, so that a loss by five is seen (it was 100)"
)
INTERACTIVE = Threshold(1.0, "time of a frame over the time that it simulates")

# -- zhu2021 -------------------------------------------------------------------------------------------------------

TOLERANCE = Threshold(1e-3, "the paper's, of feasibility and optimality (IV.A)")
SPEED_KEPT = Threshold(0.9, "share of the planned speed in the simulator: feet that dig in, and falls, leave less")
SOLVE_SECONDS = Threshold(300.0, "s, without compilation: a sixth of the paper's half hour on 20 cores")
LIFTS = Threshold(1, "of each foot in each period: it walks and does not drag")
STATED_VELOCITY_ERROR = Threshold(0.0023, "m/s: Mv on flat sand in the paper's text (IV.D); in its table 0.0010")
ROWS_TO_MATCH = Threshold(15, "rows of Table I: all that it has (it was 12)")
LEARNED_SLOPES = Threshold(13, "of 17 slopes: three quarters; the paper solved 15, on measured sand times two")
OPTIMUM = Threshold(1e-5, "optimality (Uno's scaled) of a gait at its optimum: a hundredth of the paper's")
BILEVEL_COSTS = Threshold(
    1.2, "Mc over that of the closed form: another start changes it by a tenth, this is twice that"
)
SLIPS_MORE = Threshold(1.25, "slip of the tracked gait over that of the planned one (it was 1)")
WORSE_SPEED = Threshold(2.0, "Mv of the same; the paper's ratio is 17 (it was 1)")
COSTS_MORE = Threshold(1.5, "Mc of the same; the paper's ratio is 2 (it was 1)")
SHIFTS_FORWARD = Threshold(0.05, "m: a foot's radius (it was 0: any way forward)")
EARLY_END = Threshold(50, "steps within which the paper's roll-outs ended")
FOLLOWS_SPEED = Threshold(0.1, "m/s: a quarter of the commanded speed")
UNIT_LENGTH = Threshold(1e-3, "of quaternions: what planning tolerates")
DRIFT = Threshold(0.1, "sideways over forwards: 6 degrees")
SLOPES_WITHIN = Threshold(
    0.005, "of the cost per size: how far slopes may be from those by solving again on either side"
)
PREDICTED_WITHIN = Threshold(0.002, "share of the cost by which a change that slopes predict may miss that solved for")
PREDICTED_SOLVED = Threshold(0.9, "share of predicted strides that are solved: what plain commands are asked for, too")
NEARER = Threshold(0.5, "share of predicted strides nearer to a solution than the nearest entry: more often than not")
