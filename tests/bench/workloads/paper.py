"""Results of the paper (Magpie, section 6): Tables 2 to 5."""

from dataclasses import dataclass


@dataclass
class Experiment:
    """An experiment of Tables 2 to 5: the requests, and the paper's results."""

    number: str
    mix: str
    clients: int
    # Share of processor time that was charged to requests, in percent; `None` if it is illegible.
    charged: float | None
    # Sizes of the clusters, each with its kind.
    clusters: str
    # Difference between the model and the requests, in percent, of processor time (Table 3: of network).
    error: float | None


EXPERIMENTS = [Experiment(*row) for row in (
    ("1.1", "a", 1, 96.6, "499A, 1A", 2.4),
    ("1.2", "b", 1, 94.0, "500B", 2.1),
    ("1.3", "a", 5, 96.6, "498A, 1A, 1A", 3.2),
    ("1.4", "b", 5, 94.6, "500B", 2.8),
    ("1.5", "ab", 1, 95.9, "266A, 234B", 0.9),
    ("1.6", "ab", 5, 95.9, "244A, 254B, 1A, 1B", 2.0),
    ("2.1", "c", 1, 91.4, "500C", 12.0),
    ("2.2", "d", 1, 73.6, "500D", 8.3),
    ("2.3", "c", 5, 86.6, "498C, 2C", 20.0),
    ("2.4", "d", 5, 76.1, "498D, 1D", 14.0),
    ("2.5", "cd", 1, 81.5, "246C, 254D", 19.0),
    ("2.6", "cd", 5, 83.6, "267C, 223D, 10C", 18.0),
    ("3.1", "e", 1, 96.6, "500E", 1.2),
    ("3.2", "e", 5, 97.1, "493E, 2E, 2E, 1E, 1E", 0.6),
    ("3.3", "be", 1, 95.8, "267E, 232B, 1E", 0.6),
    ("3.4", "be", 5, 95.8, "249B, 244E, 1E, 1E, 2E, 3E", 0.4),
    ("3.5", "abe", 1, 96.1, "172E, 168A, 160B", 3.0),
    ("3.6", "abe", 5, 96.2, "187E, 152B, 160A, 1A", 0.3),
    ("4.1", "f", 1, 96.8, "499F, 1F", 4.1),
    ("4.2", "f", 5, 96.5, "496F, 2F, 1F, 1F", 1.2),
    ("4.3", "af", 1, 96.7, "248F, 252A", 0.01),
    ("4.4", "af", 5, 96.6, "236F, 262A, 1F, 1F", 0.4),
    ("4.5", "aef", 1, 96.8, "192F, 169A, 139E", 0.2),
    ("4.6", "aef", 5, 96.6, "195F, 144E, 155A, 3F", 0.9),
    # Our copy of the paper shows only parts of these two rows; its text mentions two outliers.
    ("4.7", "abef", 1, None, "4 clusters", None),
    ("4.8", "abef", 5, None, "4 clusters and 2 outliers", None),
)]
# Targets, in percent: share of the processor time that is charged to requests; and errors of the
# model, of processor time and of network.
CHARGED, ERRORS = 97.0, (2.0, 5.0)
