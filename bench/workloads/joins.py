"""The join of a made stream of events: time and memory."""


def show(work, arguments):
    """Nothing yet."""
