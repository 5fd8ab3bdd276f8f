"""Records the bundled sessions again.

    python record.py            all stories
    python record.py NAME...    some of them

Each story runs the real client or agent against its script (scripts/NAME.json) and writes its file into ../../sessions.
Nothing leaves this machine and no key is needed.
"""

import argparse

import recording  # first: it makes the ids of the SDKs repeatable

import stories_agents
import stories_anthropic
import stories_files
import stories_openai

STORIES = stories_agents.STORIES | stories_openai.STORIES | stories_anthropic.STORIES | stories_files.STORIES


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("story", nargs="*", metavar="NAME", help="one of: " + ", ".join(STORIES))
    names = parser.parse_args().story or list(STORIES)
    if unknown := [name for name in names if name not in STORIES]:
        parser.error(f"no such story: {', '.join(unknown)}; there are {', '.join(STORIES)}")
    for name in names:
        recording.restart_ids(name)
        STORIES[name]()
        print(name)


if __name__ == "__main__":
    main()
