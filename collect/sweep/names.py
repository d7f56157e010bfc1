"""What the runs of a sweep are called."""


def runs_of(studies: str, profile: str, name: str = "") -> list[dict[str, str]]:
    """Return the run of each study, in the order of the command line, as `study` and `run`.

    `studies` are names with commas between them. A single run has the given name, and the names
    of several runs begin with it. The default name consists of study and profile. For a study in a
    folder (`teaching/delivery`), only the last part of its name counts.
    """
    known = dict.fromkeys(study for part in str(studies).split(",") if (study := part.strip()))
    last = {study: study.rpartition("/")[2] for study in known}
    if not name:
        return [{"study": study, "run": f"{last[study]}-{profile}"} for study in known]
    if len(known) == 1:
        return [{"study": study, "run": name} for study in known]
    return [{"study": study, "run": f"{name}-{last[study]}"} for study in known]
