//! Words for the same thing, and the tools of well-known agents.

/// Names for the same thing, written without separators. A name may stand in several groups; at most 32 groups.
const SYNONYMS: &[&[&str]] = &[
    // Run a command.
    &[
        "shell",
        "bash",
        "terminal",
        "exec",
        "run",
        "sh",
        "zsh",
        "cmd",
        "command",
        "powershell",
        "runcommand",
        "executecommand",
        "execcommand",
        "runshellcommand",
        "executebash",
        "runbash",
        "runterminalcmd",
        "runinterminal",
        "localshell",
        "shellcommand",
        "runshell",
        "execute",
        "executeshell",
        "runterminalcommand",
    ],
    // Run code.
    &[
        "python",
        "ipython",
        "executeipythoncell",
        "codeinterpreter",
        "runpython",
        "executepython",
        "runcode",
        "executecode",
        "codeexecution",
        "pythonrepl",
        "repl",
        "jupyter",
        "pythoninterpreter",
    ],
    // Read a file.
    &[
        "read",
        "readfile",
        "open",
        "openfile",
        "cat",
        "view",
        "viewfile",
        "getfile",
        "fileread",
        "loadfile",
        "getfilecontents",
        "readtextfile",
        "fsread",
        "showfile",
        "readfiles",
        "readmanyfiles",
    ],
    // Write a file.
    &[
        "write",
        "writefile",
        "createfile",
        "savefile",
        "writetofile",
        "filewrite",
        "create",
        "putfile",
        "fswrite",
        "newfile",
    ],
    // Change a file.
    &[
        "edit",
        "editfile",
        "strreplace",
        "replace",
        "replaceinfile",
        "applypatch",
        "applydiff",
        "multiedit",
        "strreplaceeditor",
        "strreplacebasededittool",
        "searchreplace",
        "patch",
        "updatefile",
        "modifyfile",
        "texteditor",
    ],
    // Find text in files.
    &[
        "grep",
        "search",
        "searchfiles",
        "rg",
        "ripgrep",
        "findinfiles",
        "searchfilecontent",
        "grepsearch",
        "searchcode",
        "codebasesearch",
        "searchtext",
        "findtext",
        "codesearch",
        "semanticsearch",
    ],
    // Find files by name.
    &[
        "glob",
        "find",
        "findfiles",
        "filesearch",
        "findbyname",
        "globfilesearch",
        "searchfiles",
        "findfile",
    ],
    // List a folder.
    &[
        "ls",
        "list",
        "dir",
        "listdir",
        "listdirectory",
        "listfiles",
        "readdir",
        "listfolder",
    ],
    // Search the web.
    &[
        "websearch",
        "searchweb",
        "googlesearch",
        "internetsearch",
        "googlewebsearch",
        "bravewebsearch",
        "searchinternet",
        "browsersearch",
        "duckduckgosearch",
        "bingsearch",
        "google",
        "searchtheweb",
        "onlinesearch",
        "searchonline",
    ],
    // Fetch a page.
    &[
        "webfetch",
        "fetch",
        "fetchurl",
        "openurl",
        "geturl",
        "httpget",
        "browse",
        "visit",
        "curl",
        "urlfetch",
        "readurl",
        "fetchpage",
        "scrape",
        "getpage",
        "openpage",
        "fetchwebpage",
        "visitpage",
    ],
    // Plans and to-do lists.
    &[
        "todowrite",
        "updateplan",
        "writetodos",
        "plan",
        "todo",
        "todos",
        "updatetodos",
        "updatetodolist",
        "managetodolist",
        "tasktracker",
    ],
    // Ask the user.
    &[
        "askuserquestion",
        "askuser",
        "askfollowupquestion",
        "question",
        "ask",
        "requestuserinput",
        "clarify",
        "askquestion",
        "askhuman",
    ],
    // Another agent.
    &[
        "task",
        "spawnagent",
        "delegate",
        "subagent",
        "agent",
        "dispatchagent",
        "runagent",
        "newtask",
    ],
    // The end.
    &[
        "finish",
        "done",
        "submit",
        "attemptcompletion",
        "complete",
        "finalanswer",
        "end",
        "finaloutput",
    ],
    // Thinking aloud.
    &["think", "sequentialthinking", "reason", "reflect"],
    // Mail.
    &["sendemail", "email", "sendmail", "mail"],
];

/// What a tool does, by the verb in its name: verbs of one row are of one kind, and no name of one kind is
/// meant by one of another. Words that are as often no verb (`order`, `open`, `run` a file) are left out.
const VERBS: &[&[&str]] = &[
    &[
        "get", "fetch", "read", "list", "find", "search", "lookup", "look", "query", "show",
        "view", "describe", "retrieve", "load", "check", "count", "browse", "inspect", "preview",
        "export", "download",
    ],
    &[
        "create", "add", "insert", "new", "make", "write", "append", "save", "register", "book",
        "schedule", "generate", "import", "upload", "post",
    ],
    &[
        "update", "edit", "modify", "set", "patch", "rename", "replace", "change", "move",
    ],
    &[
        "delete", "remove", "drop", "cancel", "clear", "destroy", "purge", "erase", "discard",
        "archive", "revoke", "void",
    ],
    &["send", "notify", "reply", "forward", "publish"],
    &["start", "launch", "resume", "restart"],
    &[
        "stop",
        "kill",
        "abort",
        "pause",
        "suspend",
        "terminate",
        "halt",
    ],
    &["enable", "activate"],
    &["disable", "deactivate"],
    &["lock", "block", "freeze"],
    &["unlock", "unblock", "unfreeze"],
    &["approve", "accept", "confirm"],
    &["reject", "decline", "deny"],
    &["subscribe", "follow"],
    &["unsubscribe", "unfollow"],
    &["connect", "attach", "mount"],
    &["disconnect", "detach", "unmount"],
    &["increase", "raise", "credit", "deposit"],
    &["decrease", "lower", "debit", "withdraw"],
    &["buy"],
    &["sell"],
    &["refund"],
    &["charge", "pay"],
];

/// The row of the verbs that take something away.
const REMOVING: usize = 3;
/// Shorter words are no typo of a verb: too many are near.
const SHORTEST_TYPO: usize = 4;

/// The kind of a verb, a typo in it allowed where that leads to one kind only.
pub(crate) fn verb_kind(word: &str) -> Option<usize> {
    let exact = VERBS.iter().position(|verbs| verbs.contains(&word));
    if exact.is_some() || word.len() < SHORTEST_TYPO || word.len() > 16 {
        return exact;
    }
    let is_near =
        |verb: &&str| verb.len() >= SHORTEST_TYPO && strsim::osa_distance(verb, word) == 1;
    let mut near = VERBS
        .iter()
        .enumerate()
        .filter(|(_, verbs)| verbs.iter().any(is_near));
    let found = near.next().map(|(kind, _)| kind);
    found.filter(|_| near.next().is_none())
}

/// Whether verbs of this kind take something away.
pub(crate) fn takes_away(kind: Option<usize>) -> bool {
    kind == Some(REMOVING)
}

/// Bit set of the synonym groups of a name without separators.
pub(crate) fn groups_of(name: &str) -> u32 {
    let member = |group: &&[&str]| group.contains(&name);
    SYNONYMS
        .iter()
        .take(32)
        .enumerate()
        .filter(|(_, group)| member(group))
        .fold(0, |bits, (index, _)| bits | 1 << index)
}

/// Tools that belong to one agent. Names that several agents share (`read_file`) tell nothing and are left out.
const HOMES: &[(&str, &[&str])] = &[
    (
        "Claude Code",
        &[
            "Bash",
            "Read",
            "Edit",
            "Write",
            "Grep",
            "Glob",
            "LS",
            "Task",
            "Agent",
            "TodoWrite",
            "TodoRead",
            "WebFetch",
            "WebSearch",
            "NotebookEdit",
            "NotebookRead",
            "MultiEdit",
            "BashOutput",
            "KillShell",
            "KillBash",
            "ExitPlanMode",
            "EnterPlanMode",
            "AskUserQuestion",
            "SlashCommand",
            "Skill",
            "ToolSearch",
            "TaskCreate",
            "TaskUpdate",
            "TaskList",
            "TaskGet",
            "TaskOutput",
        ],
    ),
    (
        "Codex",
        &[
            "shell",
            "exec_command",
            "apply_patch",
            "update_plan",
            "write_stdin",
            "local_shell",
            "shell_command",
            "container.exec",
            "view_image",
            "spawn_agent",
            "wait_agent",
        ],
    ),
    (
        "Gemini CLI",
        &[
            "run_shell_command",
            "google_web_search",
            "search_file_content",
            "save_memory",
            "write_todos",
            "read_many_files",
        ],
    ),
    (
        "Cursor",
        &[
            "run_terminal_cmd",
            "codebase_search",
            "grep_search",
            "search_replace",
            "fetch_rules",
            "reapply",
        ],
    ),
    (
        "Cline",
        &[
            "execute_command",
            "write_to_file",
            "replace_in_file",
            "ask_followup_question",
            "attempt_completion",
            "browser_action",
            "use_mcp_tool",
            "access_mcp_resource",
            "list_code_definition_names",
            "plan_mode_respond",
        ],
    ),
    (
        "OpenHands",
        &[
            "execute_bash",
            "str_replace_editor",
            "execute_ipython_cell",
            "task_tracker",
        ],
    ),
    (
        "GitHub Copilot",
        &[
            "run_in_terminal",
            "insert_edit_into_file",
            "semantic_search",
            "manage_todo_list",
            "get_errors",
        ],
    ),
    ("ChatGPT", &["python", "multi_tool_use.parallel"]),
    (
        "OpenAI's hosted tools",
        &[
            "web_search",
            "web_search_preview",
            "code_interpreter",
            "image_generation",
            "computer_use_preview",
        ],
    ),
    (
        "Anthropic's built-in tools",
        &["bash", "str_replace_based_edit_tool", "computer"],
    ),
];

/// The agent or provider whose tool this is, for "this is a tool of Claude Code; your agent does not
/// offer it". The name must be written as that agent writes it (`Bash`, not `BASH`); a `functions.`
/// before it is no matter.
#[must_use]
pub fn home_of(name: &str) -> Option<&'static str> {
    let bare = name.trim().trim_start_matches("functions.");
    HOMES
        .iter()
        .find(|(_, tools)| tools.contains(&bare))
        .map(|(home, _)| *home)
}
