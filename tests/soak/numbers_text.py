"""Numbers as the plugin and the journals write them: "1:4-6,9;2:3"."""


def parse(text):
    """The numbers as a list of (client, count); a number that is written twice is
    there twice."""
    found = []
    for part in filter(None, text.split(";")):
        client, ranges = part.split(":")
        for each in ranges.split(","):
            first, _, last = each.partition("-")
            found += [(int(client), count)
                      for count in range(int(first), int(last or first) + 1)]
    return found


def write(client, counts):
    """Counts of one client, which ascend, as a text; "" if there are none."""
    ranges = []
    for count in counts:
        if ranges and ranges[-1][1] == count - 1:
            ranges[-1][1] = count
        else:
            ranges.append([count, count])
    if not ranges:
        return ""
    return f"{client}:" + ",".join(
        str(first) if first == last else f"{first}-{last}"
        for first, last in ranges)
