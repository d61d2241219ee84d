package permission

import (
	"slices"
	"strings"
)

// gitReads reports a git command that only reads the repository.
func gitReads(args []word) bool {
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		switch args[0].text {
		case "--no-pager", "-P", "--no-optional-locks", "--literal-pathspecs":
			args = args[1:]
		case "-C":
			if len(args) < 2 {
				return false
			}
			args = args[2:]
		default:
			return false
		}
	}
	if len(args) == 0 || !args[0].fixed() {
		return false
	}
	return gitSubcommand(args[0].text, args[1:]) && !gitRuns(args[1:])
}

func gitSubcommand(name string, args []word) bool {
	switch name {
	case "status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "blame", "describe", "shortlog", "rev-list",
		"name-rev", "merge-base", "for-each-ref", "show-ref", "diff-tree", "diff-index", "diff-files", "count-objects", "whatchanged", "version":
		return true
	case "cat-file":
		return !hasOption(args, "", "filters", "textconv")
	case "grep":
		return !hasOption(args, "O", "open-files-in-pager")
	case "branch":
		return all(args, func(t string) bool {
			return contains([]string{"-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--remotes", "--verbose", "--show-current", "--no-color"}, t)
		})
	case "tag":
		return all(args, func(t string) bool { return contains([]string{"-l", "--list", "-n"}, t) })
	case "remote":
		return all(args, func(t string) bool { return t == "-v" || t == "--verbose" })
	case "stash", "worktree":
		return len(args) > 0 && args[0].text == "list"
	case "reflog":
		return len(args) == 0 || args[0].text == "show"
	case "config":
		return len(args) > 0 && contains([]string{"--get", "--get-all", "--list", "-l", "--get-regexp"}, args[0].text) && !hasOption(args, "ef", "edit", "file", "unset", "add", "replace-all")
	}
	return false
}

// gitRuns reports options that write files or start programs, in any
// abbreviation git accepts. --text is an option of its own.
func gitRuns(args []word) bool {
	args = slices.DeleteFunc(slices.Clone(args), func(w word) bool { return w.text == "--text" })
	return hasOption(args, "", "output", "ext-diff", "textconv", "exec", "upload-pack", "open-files-in-pager", "show-signature",
		"no-index", "contents", "output-directory")
}
