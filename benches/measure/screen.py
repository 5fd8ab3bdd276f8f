"""A terminal's screen in memory: bytes in, rows of text out.

Enough of xterm for full-screen programs (cursor moves, erasing, scrolling, the alternate
screen, wide characters). Colours are ignored. Questions that a program puts to the terminal
(device attributes, cursor position, colours, ...) are noted and never answered.
"""
import codecs
import re
import unicodedata

TOKEN = re.compile(
    r"\x1b\[(?P<params>[0-?]*)(?P<middle>[ -/]*)(?P<final>[@-~])"
    r"|\x1b\](?P<osc>[^\x07\x1b]*)(?:\x07|\x1b\\)"
    r"|\x1b(?P<string>[PX^_])(?P<body>[^\x1b]*)\x1b\\"
    r"|\x1b[ -/]+[0-~]"
    r"|\x1b(?P<escape>[0-OQ-WYZ\\`-~])"
    r"|(?P<control>[\x00-\x1a\x1c-\x1f\x7f])"
    r"|(?P<text>[^\x00-\x1f\x7f]+)")

WINDOW_QUESTIONS = {"11", "13", "14", "15", "16", "18", "19", "20", "21"}


def question(match):
    """The name of the question that this escape sequence asks the terminal, or None."""
    final, params = match["final"], match["params"] or ""
    if final == "c":
        return {">": "DA2", "=": "DA3"}.get(params[:1], "DA1")
    if final == "n" and params.lstrip("?") in ("5", "6"):
        return "DSR" if params.endswith("5") else "CPR"
    if final == "q" and params.startswith(">"):
        return "XTVERSION"
    if final == "p" and match["middle"] == "$":
        return "DECRQM"
    if final == "u" and params == "?":
        return "kitty keyboard flags"
    if final == "t" and params.split(";")[0] in WINDOW_QUESTIONS:
        return "window report"
    if match["osc"] is not None and match["osc"].endswith("?"):
        return "OSC " + match["osc"].split(";")[0]
    if match["string"] == "P" and match["body"].startswith(("+q", "$q")):
        return "XTGETTCAP" if match["body"].startswith("+q") else "DECRQSS"
    return None


def width(character):
    """Columns that a character takes."""
    if character < "\u0300":
        return 1
    if unicodedata.combining(character) or unicodedata.category(character) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


class Screen:
    """What a person would see now."""

    def __init__(self, columns, rows):
        self.columns, self.height = columns, rows
        self.questions = set()  # names of all terminal queries seen
        self.alternate = False  # the program has switched to the alternate screen
        self._decoder = codecs.getincrementaldecoder("utf-8")("replace")
        self._rest = ""  # an escape sequence that is not complete yet
        self._saved = (0, 0)
        self._clear()

    def _clear(self):
        self.cells = [self._blank() for _ in range(self.height)]
        self.row = self.column = 0
        self.top, self.bottom = 0, self.height - 1

    def _blank(self):
        return [" "] * self.columns

    def rows(self):
        """The rows as text, trailing blanks removed."""
        return ["".join(row).rstrip() for row in self.cells]

    def shows(self, marker):
        """Whether the text stands somewhere; a line that wraps at the right edge counts as one."""
        return marker in "".join("".join(row) for row in self.cells)

    def feed(self, data):
        text, at = self._rest + self._decoder.decode(data), 0
        self._rest = ""
        while at < len(text):
            match = TOKEN.match(text, at)
            if match is None:
                if len(text) - at < 65536:  # incomplete: wait for its end
                    self._rest = text[at:]
                    return
                at += 1  # no terminal waits for ever
                continue
            self._apply(match)
            at = match.end()

    def _apply(self, match):
        if match["text"]:
            self._print(match["text"])
        elif match["control"]:
            self._control(match["control"])
        elif match["escape"]:
            self._escape(match["escape"])
        else:
            asked = question(match)
            if asked:
                self.questions.add(asked)
            elif match["final"] and not match["middle"]:
                self._sequence(match["params"], match["final"])

    def _print(self, text):
        for character in text:
            columns = width(character)
            if columns == 0:
                continue
            if self.column + columns > self.columns:
                self.column = 0
                self._line_feed()
            row = self.cells[self.row]
            row[self.column] = character
            if columns == 2:
                row[self.column + 1] = ""
            self.column += columns

    def _control(self, control):
        if control == "\r":
            self.column = 0
        elif control in "\n\x0b\x0c":
            self._line_feed()
        elif control == "\b":
            self.column = max(0, min(self.column, self.columns - 1) - 1)
        elif control == "\t":
            self.column = min(self.columns - 1, self.column // 8 * 8 + 8)

    def _escape(self, escape):
        if escape == "7":
            self._saved = (self.row, self.column)
        elif escape == "8":
            self.row, self.column = self._saved
        elif escape == "D":
            self._line_feed()
        elif escape == "E":
            self.column = 0
            self._line_feed()
        elif escape == "M":
            if self.row == self.top:
                self._scroll(self.top, -1)
            else:
                self.row = max(0, self.row - 1)
        elif escape == "c":
            self._clear()

    def _line_feed(self):
        if self.row == self.bottom:
            self._scroll(self.top, 1)
        else:
            self.row = min(self.height - 1, self.row + 1)

    def _scroll(self, top, lines):
        """Move the rows from top to the region's end up by lines (down when negative)."""
        for _ in range(min(abs(lines), self.height)):
            if lines > 0:
                del self.cells[top]
                self.cells.insert(self.bottom, self._blank())
            else:
                del self.cells[self.bottom]
                self.cells.insert(top, self._blank())

    def _sequence(self, params, final):
        if params[:1] in ("?", ">", "<", "="):
            if params[0] == "?" and final in "hl":
                self._mode(params[1:].split(";"), final == "h")
            return
        numbers = [int(n) if n.isdigit() else 0 for n in params.split(";")]
        first = max(1, numbers[0])
        if final in "Hf":
            self._go(first - 1, max(1, numbers[1] if len(numbers) > 1 else 1) - 1)
        elif final in "ABCDEFGd`ae":
            self._move(final, first)
        elif final in "JKX@P":
            self._erase(final, numbers[0])
        elif final in "LM":
            if self.top <= self.row <= self.bottom:
                self._scroll(self.row, first if final == "M" else -first)
        elif final in "ST":
            self._scroll(self.top, first if final == "S" else -first)
        elif final == "r":
            self.top = first - 1
            self.bottom = (numbers[1] if len(numbers) > 1 and numbers[1] else self.height) - 1
            self.bottom = min(self.bottom, self.height - 1)
            self._go(0, 0)
        elif final == "s":
            self._saved = (self.row, self.column)
        elif final == "u":
            self.row, self.column = self._saved

    def _mode(self, modes, on):
        if {"1049", "1047", "47"} & set(modes):
            self.alternate = on
            self._clear()

    def _go(self, row, column):
        self.row = max(0, min(self.height - 1, row))
        self.column = max(0, min(self.columns - 1, column))

    def _move(self, final, n):
        row, column = self.row, self.column
        target = {
            "A": (row - n, column), "B": (row + n, column), "e": (row + n, column),
            "C": (row, column + n), "a": (row, column + n), "D": (row, column - n),
            "E": (row + n, 0), "F": (row - n, 0),
            "G": (row, n - 1), "`": (row, n - 1), "d": (n - 1, column),
        }[final]
        self._go(*target)

    def _erase(self, final, n):
        row, at = self.cells[self.row], min(self.column, self.columns - 1)
        if final == "J":
            if n == 0:
                first, last = self.row + 1, self.height
            else:
                first, last = 0, self.row if n == 1 else self.height
            for other in range(first, last):
                self.cells[other] = self._blank()
        if final in "JK":
            first = at if n == 0 else 0
            last = at + 1 if n == 1 else self.columns
            row[first:last] = [" "] * (last - first)
            return
        count = min(max(1, n), self.columns - at)
        if final == "X":
            row[at:at + count] = [" "] * count
        elif final == "@":
            self.cells[self.row] = row[:at] + [" "] * count + row[at:self.columns - count]
        elif final == "P":
            self.cells[self.row] = row[:at] + row[at + count:] + [" "] * count
