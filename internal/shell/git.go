package shell

import (
	"path"
	"slices"
	"strings"
)

// gitReads reports whether a git command only reads the repository.
func gitReads(args []Word) bool {
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		switch args[0].Text {
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
	if len(args) == 0 || !args[0].Fixed() {
		return false
	}
	return gitSubcommandReads(args[0].Text, args[1:]) && !gitHasEffects(args[1:])
}

func gitSubcommandReads(name string, args []Word) bool {
	switch name {
	case "status", "log", "diff", "show", "rev-parse", "ls-files", "ls-tree", "blame", "describe", "shortlog", "rev-list",
		"name-rev", "merge-base", "for-each-ref", "show-ref", "diff-tree", "diff-index", "diff-files", "count-objects", "whatchanged", "version":
		return true
	case "cat-file":
		return !hasOption(args, "", "filters", "textconv")
	case "grep":
		return !hasOption(args, "O", "open-files-in-pager")
	case "branch":
		return allWords(args, func(t string) bool {
			return slices.Contains([]string{"-a", "-r", "-v", "-vv", "-l", "--list", "--all", "--remotes", "--verbose", "--show-current", "--no-color"}, t)
		})
	case "tag":
		return allWords(args, func(t string) bool { return slices.Contains([]string{"-l", "--list", "-n"}, t) })
	case "remote":
		return allWords(args, func(t string) bool { return t == "-v" || t == "--verbose" })
	case "stash", "worktree":
		return len(args) > 0 && args[0].Text == "list"
	case "reflog":
		return len(args) == 0 || args[0].Text == "show"
	case "config":
		return len(args) > 0 && slices.Contains([]string{"--get", "--get-all", "--list", "-l", "--get-regexp"}, args[0].Text) && !hasOption(args, "ef", "edit", "file", "unset", "add", "replace-all")
	}
	return false
}

// gitHasEffects reports options that write files or start programs, in any abbreviation
// that git accepts. --text is an option of its own.
func gitHasEffects(args []Word) bool {
	args = slices.DeleteFunc(slices.Clone(args), func(w Word) bool { return w.Text == "--text" })
	return hasOption(args, "", "output", "ext-diff", "textconv", "exec", "upload-pack", "open-files-in-pager", "show-signature",
		"no-index", "contents", "output-directory")
}

// SetsVariables reports whether cmd is a builtin whose arguments set variables.
func SetsVariables(cmd *Command) bool {
	return len(cmd.Words) > 0 && slices.Contains([]string{"export", "declare", "typeset", "readonly", "local", "read", "printf", "mapfile"}, cmd.Words[0].Text)
}

// GitOption splits the first of git's own options from the arguments.
func GitOption(args []Word) (name string, value Word, rest []Word) {
	w := args[0]
	name, text, joined := strings.Cut(w.Text, "=")
	if joined && strings.HasPrefix(name, "--") {
		w.Text = text
		return name, w, args[1:]
	}
	if slices.Contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--config-env", "--namespace", "--exec-path"}, w.Text) && len(args) > 1 {
		return w.Text, args[1], args[2:]
	}
	return w.Text, w, args[1:]
}

// GitChangesShared reports whether a subcommand of git changes what all worktrees of a
// repository share: other worktrees, the configuration, refs and objects.
func GitChangesShared(name string, args []Word) bool {
	operands := slices.DeleteFunc(slices.Clone(args), func(w Word) bool { return strings.HasPrefix(w.Text, "-") })
	does := func(names ...string) bool { return len(operands) > 0 && slices.Contains(names, operands[0].Text) }
	switch name {
	case "worktree", "config":
		return !gitSubcommandReads(name, args)
	case "update-ref", "gc", "prune", "repack", "maintenance", "pack-refs", "filter-branch":
		return true
	case "symbolic-ref":
		return len(operands) > 1 || hasOption(args, "d", "delete")
	case "branch":
		return hasOption(args, "mMcCdDfu", "move", "copy", "delete", "force", "set-upstream-to", "unset-upstream", "edit-description")
	case "tag":
		return hasOption(args, "df", "delete", "force")
	case "checkout":
		return hasOption(args, "B")
	case "switch":
		return hasOption(args, "C", "force-create")
	case "remote":
		return len(operands) > 0 && !does("show", "get-url")
	case "reflog":
		return does("expire", "delete")
	case "stash":
		return !does("list", "show", "create")
	case "push", "fetch", "pull":
		return does(".") // this repository, whose branches all worktrees share
	}
	return false
}

// PrintsRepository reports whether cmd may print the path of the main checkout.
func PrintsRepository(cmd Command) bool {
	words, _ := Strip(cmd.Words)
	if len(words) == 0 {
		return false
	}
	if path.Base(words[0].Text) != "git" {
		return slices.ContainsFunc(append(slices.Clone(words[1:]), redirectTargets(cmd)...), func(w Word) bool { return path.Base(w.Text) == ".git" })
	}
	args := words[1:]
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		_, _, args = GitOption(args)
	}
	if len(args) == 0 {
		return false
	}
	return args[0].Text == "worktree" || args[0].Text == "rev-parse" &&
		hasOption(args[1:], "", "git-dir", "absolute-git-dir", "git-common-dir", "git-path", "shared-index-path")
}

func redirectTargets(cmd Command) (words []Word) {
	for _, r := range cmd.Redirects {
		words = append(words, r.Target)
	}
	return words
}
