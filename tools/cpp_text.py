"""A rough look at C++ text: comments and literals blanked, and where functions begin and end."""

import re

TOKEN = re.compile(
    r"//(?:[^\n\\]|\\.|\\\n)*"                           # comment to the end of the line
    r"|/\*.*?\*/"                                        # comment
    r'|(?:u8|[uUL])?R"(?P<mark>[^(\s]*)\(.*?\)(?P=mark)"'   # raw string
    r'|"(?:[^"\\\n]|\\.)*"'                              # string
    r"|(?<![0-9A-Fa-f])'(?:[^'\\\n]|\\.)+'",             # character, but no digit separator
    re.DOTALL)
COMMENT_OPENERS = ("//", "/*")


def blank(match):
    return re.sub(r"[^\n]", " ", match[0])


def blank_comments(text):
    """The text with its comments blanked, every line where it was."""
    return TOKEN.sub(
        lambda match: blank(match) if match[0].startswith(COMMENT_OPENERS) else match[0], text)


def blank_text(text):
    """The text with comments, literals and directives blanked, every line where it was."""
    return re.sub(r"^[ \t]*#(?:[^\n\\]|\\.|\\\n)*", blank, TOKEN.sub(blank, text),
                  flags=re.MULTILINE)


SCOPE = re.compile(
    r"\s*(?:export\s+)?(?:template\s*<.*>\s*)?(?:requires\b.*)?(?:typedef\s+)?"
    r"(?:inline\s+)?(?:namespace|class|struct|union|enum)\b", re.DOTALL)


def is_scope(head):
    """Whether a brace after this text opens a namespace or a type, even one with parentheses in
    its head (`class alignas(64) Slot`), and not a function."""
    return SCOPE.match(head) is not None


def functions(text):
    """(first line, last line) of each function's body, by a look at its braces.

    The text before a brace tells what opens: with a pair of parentheses a function's body, and
    otherwise a scope, which may hold functions. What lies in a function belongs to it.
    """
    code = blank_text(text)
    head = ""       # text since the last ; { or }
    stack = []      # "scope" or the line on which a function began
    depth = 0       # braces within the current function
    line = 1
    for at, sign in enumerate(code):
        if sign == "\n":
            line += 1
        if depth:
            depth += (sign == "{") - (sign == "}")
            if depth == 0:
                yield stack.pop(), line
                # After a member's initialiser in braces, the head of the constructor goes on.
                if not re.match(r"\s*[,{]", code[at + 1:at + 200]):
                    head = ""
        elif sign == "{":
            if "(" in head and not is_scope(head):
                stack.append(line)
                depth = 1
            else:
                stack.append("scope")
                head = ""
        elif sign == "}":
            if stack:
                stack.pop()
            head = ""
        elif sign == ";":
            head = ""
        else:
            head += sign
