"""Errors of published models on the wheel of C. Pavlov and A. M. Johnson (GitHub robomechanics/3d-terramechanics, MIT).

Mean absolute errors over the 45 conditions up to 60 degrees of slip angle.
"""

from __future__ import annotations

YU = "Q. Yu, C. Pavlov, W. Kim, A. M. Johnson, J. Terramechanics 115 (2024) 100987: their published predictions"
AGARWAL = "S. Agarwal, D. I. Goldman, K. Kamrin, PNAS 2023, evaluated for this wheel elsewhere"
PAVLOV = "C. Pavlov, A. M. Johnson: their wheel model, published equations and parameters, evaluated elsewhere"

SINKAGE_GIVEN = {
    "3D-RFT, scale 0.6 (Yu 2024)": ((4.5, 3.1, 7.1), 1, YU),
    "3D-RFT and sand deformation (Yu 2024)": ((2.9, 1.6, 6.5), 1, YU),
    "3D-RFT, no fit (Agarwal 2023)": ((2.1, 1.6, 7.3), 0, AGARWAL),
}
"""Errors in N (forward, lateral, vertical) at the measured sinkage, fitted numbers, source."""

LOAD_GIVEN = {
    "wheel model, tuned for each slip angle (Pavlov)": ((3.4, 3.2, 2.7), None, PAVLOV),
    "3D-RFT, no fit (Agarwal 2023)": ((7.2, 4.4, 3.4), 0, AGARWAL),
}
"""Errors of sinkage (mm) and force (N; forward, lateral) at the measured load, fitted numbers (None: many), source."""
