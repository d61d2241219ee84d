package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// redirectsGit says how a command would send git to a protected repository or
// change what all checkouts share, or "".
func (b boundary) redirectsGit(cmd *shell.Command) string {
	for _, a := range cmd.Assigns {
		if why := b.gitVariable(cmd, a.Name, a.Value); why != "" {
			return why
		}
	}
	for _, w := range cmd.Words {
		name, value, ok := strings.Cut(w.Text, "=")
		if w.Text = value; !ok && shell.Declares(cmd) {
			w.Literal = false // it is exported, or read, with a value from elsewhere
		} else if !ok {
			continue
		}
		if why := b.gitVariable(cmd, name, w); why != "" {
			return why
		}
	}
	if len(cmd.Words) == 0 || path.Base(cmd.Words[0].Text) != "git" {
		return ""
	}
	if len(cmd.Dirs) == 0 {
		return "the directory git would run in cannot be verified; run it in the worktree"
	}
	return b.gitLeaves(cmd)
}

// gitVariable judges a variable that tells git where its things are.
func (b boundary) gitVariable(cmd *shell.Command, name string, value shell.Word) string {
	switch {
	case strings.HasPrefix(name, "GIT_CONFIG"):
		return fmt.Sprintf("%s can send git anywhere; leave it out", name)
	case slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_NAMESPACE"}, name):
		return b.leadsAway(cmd, name, value, cmd.Dirs)
	}
	return ""
}

// leadsAway judges a directory that git is sent to from each of some others.
func (b boundary) leadsAway(cmd *shell.Command, what string, to shell.Word, from []string) string {
	dirs := b.reach(to, from)
	if len(dirs) == 0 {
		return fmt.Sprintf("where %s sends git cannot be verified in %q", what, cmd)
	}
	for _, d := range dirs {
		for _, f := range b.forms(d) {
			if p := b.protectedDir(f); p != "" {
				return fmt.Sprintf("%s sends git into %s, which is off limits", what, p)
			}
		}
	}
	return ""
}

// reach returns where a word leads from some directories; none if that is not certain.
func (b boundary) reach(to shell.Word, from []string) []string {
	if !to.Fixed() {
		return nil
	}
	return b.paths(&shell.Command{Dirs: from}, to)
}

// gitLeaves reads git's own options, then its subcommand.
func (b boundary) gitLeaves(cmd *shell.Command) string {
	args, cwds := cmd.Words[1:], cmd.Dirs
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		name, value, rest := shell.GitOption(args)
		var why string
		switch name {
		case "-C":
			why = b.leadsAway(cmd, name, value, cwds)
			cwds = b.reach(value, cwds)
		case "--git-dir", "--work-tree":
			why = b.leadsAway(cmd, name, value, cwds)
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
	case !args[0].Fixed():
		return fmt.Sprintf("where the command writes cannot be traced: git's subcommand in %q is computed; write it out", cmd)
	}
	return changesShared(args)
}

// gitSetting judges what "git -c" sets.
func gitSetting(w shell.Word) string {
	key, _, _ := strings.Cut(strings.ToLower(w.Text), "=")
	if !w.Literal || key == "core.worktree" || strings.HasPrefix(key, "alias.") || strings.HasPrefix(key, "include") {
		return fmt.Sprintf("the setting %q can send git anywhere; leave it out", w.Source)
	}
	return ""
}

// changesShared refuses the subcommands that change what the main checkout lives
// by: other worktrees, the configuration, refs and objects that others made.
func changesShared(args []shell.Word) string {
	name, rest := args[0].Text, args[1:]
	if !shell.GitChangesShared(name, rest) {
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
