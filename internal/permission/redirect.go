package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"
)

// redirectsGit says how a command would send git to a protected repository or
// change what all checkouts share, or "".
func (c *call) redirectsGit(cmd *command) string {
	for _, a := range cmd.assigns {
		if why := c.gitVariable(cmd, a.name, a.value); why != "" {
			return why
		}
	}
	for _, w := range cmd.words {
		name, value, ok := strings.Cut(w.text, "=")
		if w.text = value; !ok && declares(cmd) {
			w.lit = false // it is exported, or read, with a value from elsewhere
		} else if !ok {
			continue
		}
		if why := c.gitVariable(cmd, name, w); why != "" {
			return why
		}
	}
	if len(cmd.words) == 0 || path.Base(cmd.words[0].text) != "git" {
		return ""
	}
	if len(cmd.cwds) == 0 {
		return "the directory git would run in cannot be verified; run it in the worktree"
	}
	return c.gitLeaves(cmd)
}

func declares(cmd *command) bool {
	return len(cmd.words) > 0 && contains([]string{"export", "declare", "typeset", "readonly", "local", "read", "printf", "mapfile"}, cmd.words[0].text)
}

// gitVariable judges a variable that tells git where its things are.
func (c *call) gitVariable(cmd *command, name string, value word) string {
	switch {
	case strings.HasPrefix(name, "GIT_CONFIG"):
		return fmt.Sprintf("%s can send git anywhere; leave it out", name)
	case contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_NAMESPACE"}, name):
		return c.leadsAway(cmd, name, value, cmd.cwds)
	}
	return ""
}

// leadsAway judges a directory that git is sent to from each of some others.
func (c *call) leadsAway(cmd *command, what string, to word, from []string) string {
	dirs := c.reach(to, from)
	if len(dirs) == 0 {
		return fmt.Sprintf("where %s sends git cannot be verified in %q", what, cmd)
	}
	for _, d := range dirs {
		for _, f := range c.forms(d) {
			if p := c.protectedDir(f); p != "" {
				return fmt.Sprintf("%s sends git into %s, which is off limits", what, p)
			}
		}
	}
	return ""
}

// reach returns where a word leads from some directories; none if that is not certain.
func (c *call) reach(to word, from []string) []string {
	if !to.fixed() {
		return nil
	}
	return c.paths(&command{cwds: from}, to)
}

// gitLeaves reads git's own options, then its subcommand.
func (c *call) gitLeaves(cmd *command) string {
	args, cwds := cmd.words[1:], cmd.cwds
	for len(args) > 0 && strings.HasPrefix(args[0].text, "-") {
		name, value, rest := gitOption(args)
		var why string
		switch name {
		case "-C":
			why = c.leadsAway(cmd, name, value, cwds)
			cwds = c.reach(value, cwds)
		case "--git-dir", "--work-tree":
			why = c.leadsAway(cmd, name, value, cwds)
		case "-c":
			why = gitSetting(value)
		case "--config-env":
			why = "--config-env can send git anywhere; leave it out"
		}
		if why != "" {
			return why
		}
		args = rest
	}
	switch {
	case len(args) == 0:
		return ""
	case !args[0].fixed():
		return fmt.Sprintf("where the command writes cannot be traced: git's subcommand in %q is computed; write it out", cmd)
	}
	return changesShared(args)
}

// gitOption takes the first of git's own options off its arguments.
func gitOption(args []word) (name string, value word, rest []word) {
	w := args[0]
	name, text, joined := strings.Cut(w.text, "=")
	if joined && strings.HasPrefix(name, "--") {
		w.text = text
		return name, w, args[1:]
	}
	if contains([]string{"-C", "-c", "--git-dir", "--work-tree", "--config-env", "--namespace", "--exec-path"}, w.text) && len(args) > 1 {
		return w.text, args[1], args[2:]
	}
	return w.text, w, args[1:]
}

// gitSetting judges what "git -c" sets.
func gitSetting(w word) string {
	key, _, _ := strings.Cut(strings.ToLower(w.text), "=")
	if !w.lit || key == "core.worktree" || strings.HasPrefix(key, "alias.") || strings.HasPrefix(key, "include") {
		return fmt.Sprintf("the setting %q can send git anywhere; leave it out", w.src)
	}
	return ""
}

// changesShared refuses the subcommands that change what the main checkout lives
// by: other worktrees, the configuration, refs and objects that others made.
func changesShared(args []word) string {
	name, rest := args[0].text, args[1:]
	if !sharedChange(name, rest) {
		return ""
	}
	advice := ""
	switch name {
	case "config":
		advice = "; a setting can be given to one command with git -c"
	case "stash":
		advice = "; commit to your branch instead"
	}
	return fmt.Sprintf("git %s changes what the main checkout shares with this worktree%s", name, advice)
}

func sharedChange(name string, args []word) bool {
	operands := slices.DeleteFunc(slices.Clone(args), func(w word) bool { return strings.HasPrefix(w.text, "-") })
	does := func(names ...string) bool { return len(operands) > 0 && contains(names, operands[0].text) }
	switch name {
	case "worktree", "config":
		return !gitSubcommand(name, args)
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
		return does(".") // its own repository, whose branches are everybody's
	}
	return false
}
