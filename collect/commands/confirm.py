"""A question to the person at the terminal."""


def is_confirmed(question: str) -> bool:
    """Return whether the person says yes; an input that ends is a no."""
    try:
        answer = input(f"{question} [y/N] ")
    except EOFError:
        return False
    return answer.strip().lower() in {"y", "yes"}
