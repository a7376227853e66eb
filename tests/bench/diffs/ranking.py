"""Quality of a ranked list (Spectroscope, Figure 6), and which mutations are relevant to a fault.
"""

import math


def gain(relevances):
    """Discounted cumulated gain: rel1 + sum of rel_i / log2(i)."""
    return sum(relevance / (1.0 if rank == 1 else math.log2(rank)) for rank, relevance in enumerate(relevances, 1))


def ndcg(relevances):
    """The gain of a ranked list relative to that of its ideal order; 0 if nothing in it is
    relevant.
    """
    ideal = gain(sorted(relevances, reverse=True))
    return gain(relevances) / ideal if ideal else 0.0


def calls(tree, operation, node=""):
    """How often a category has an operation at a node with this name prefix."""
    return sum(place["operation"] == operation and place["node"].startswith(node) for place in tree["places"])


def relevant_to_spin(mutation):
    """Storage nodes wait before they respond to a WRITE: requests with such a WRITE take longer
    (5.3.1).
    """
    return mutation["kind"] == "response_time" and calls(mutation["tree"], "WRITE", "storage") > 0


def relevant_to_cache(mutation):
    """The data cache is too small: requests that miss in it are more frequent (5.3.2)."""
    return mutation["kind"] == "structural" and calls(mutation["tree"], "data miss") > 0


def left_out(answer, everything):
    """How many categories are slower by the spin, how many of them a comparison reports, and their
    share of the time.

    `everything` is the same comparison with hardly any control of chance. A category is slower if
    its mean grew by half of the spin or more.
    """
    def slower(mutation):
        before, after = mutation["tree"]["mean_ns"]
        return relevant_to_spin(mutation) and after - before >= 500_000

    reported = {mutation["tree"]["category"] for mutation in answer["mutations"] if relevant_to_spin(mutation)}
    there = {mutation["tree"]["category"]: mutation["contribution_ns"] for mutation in everything["mutations"] if slower(mutation)}
    time = sum(there.values())
    share = sum(ns for category, ns in there.items() if category in reported) / time if time else 0.0
    return len(there), sum(category in reported for category in there), share


def is_located(mutation):
    """Whether a hop that a storage node ends with its response to a WRITE is reported as changed.
    """
    places = mutation["tree"]["places"]

    def answers(place):
        above = places[place["parent"]] if place["parent"] is not None else None
        return place["operation"] == "reply" and above is not None and above["operation"] == "WRITE"

    return any(answers(places[hop["place"]]) for hop in mutation["hops"])


def is_originated(mutation):
    """Whether the first originator misses less often in the data cache."""
    originators = mutation["originators"]
    return bool(originators) and calls(originators[0]["tree"], "data miss") < calls(mutation["tree"], "data miss")


# For each fault: a function that returns whether a mutation is relevant, a function that returns
# whether a relevant mutation shows the place or the kind of the fault, and the faulty nodes.
FAULTS = {
    "spin": (relevant_to_spin, is_located, ("storage1", "storage2", "storage3")),
    "cache": (relevant_to_cache, is_originated, ("nfs",)),
}


def score_mutations(answer, fault):
    """The relevance of a comparison's mutations, in their order, and its figures."""
    is_relevant, is_located_or_originated, nodes = FAULTS[fault]
    relevances = [int(is_relevant(mutation)) for mutation in answer["mutations"]]
    relevant = [mutation for mutation, relevance in zip(answer["mutations"], relevances) if relevance]
    return {
        "categories": answer["categories"],
        "mutations": len(relevances),
        "relevant": sum(relevances) / len(relevances) if relevances else 0.0,
        "ndcg": ndcg(relevances),
        "located": sum(map(is_located_or_originated, relevant)) / len(relevant) if relevant else 0.0,
        "suspected": bool(answer["suspects"]) and answer["suspects"][0]["node"] in nodes,
        "list": "".join("x" if relevance else "." for relevance in relevances),
    }
