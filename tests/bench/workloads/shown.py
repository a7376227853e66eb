"""Tables as Markdown, and the format of their figures."""


def table(head, rows):
    print("| " + " | ".join(head) + " |\n|" + "---|" * len(head))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |", flush=True)
    print(flush=True)


def percent(share, digits=1):
    return "" if share is None or share != share else f"{100 * share:.{digits}f}%"


def milliseconds(nanoseconds):
    return f"{nanoseconds / 1e6:.2f} ms"
