package permission

import (
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// gitRefusal refuses a command that sends git to a protected repository or changes what
// all checkouts share.
func (b boundaryCheck) gitRefusal(cmd *shell.Command) string {
	for _, a := range cmd.Assigns {
		if reason := b.gitVariableRefusal(cmd, a.Name, a.Value); reason != "" {
			return reason
		}
	}
	for _, w := range cmd.Words {
		name, value, ok := strings.Cut(w.Text, "=")
		if w.Text = value; !ok && shell.SetsVariables(cmd) {
			w.Literal = false // its value is set elsewhere or read
		} else if !ok {
			continue
		}
		if reason := b.gitVariableRefusal(cmd, name, w); reason != "" {
			return reason
		}
	}
	if len(cmd.Words) == 0 || path.Base(cmd.Words[0].Text) != "git" {
		return ""
	}
	if len(cmd.Dirs) == 0 {
		return "the directory git would run in cannot be verified; run it in the worktree"
	}
	return b.gitArgumentRefusal(cmd)
}

// gitVariableRefusal judges a variable that gives git its directories and settings.
func (b boundaryCheck) gitVariableRefusal(cmd *shell.Command, name string, value shell.Word) string {
	switch {
	case strings.HasPrefix(name, "GIT_CONFIG"):
		return fmt.Sprintf("%s can send git anywhere; leave it out", name)
	case slices.Contains([]string{"GIT_DIR", "GIT_WORK_TREE", "GIT_COMMON_DIR", "GIT_OBJECT_DIRECTORY", "GIT_INDEX_FILE", "GIT_NAMESPACE"}, name):
		return b.gitDirRefusal(cmd, name, value, cmd.Dirs)
	}
	return ""
}

// gitDirRefusal judges the directory to, seen from each of from, that git is to use.
func (b boundaryCheck) gitDirRefusal(cmd *shell.Command, what string, to shell.Word, from []string) string {
	dirs := b.destinations(to, from)
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

// destinations returns the paths that to means in each of from, or none if that is not
// certain.
func (b boundaryCheck) destinations(to shell.Word, from []string) []string {
	if !to.Fixed() {
		return nil
	}
	return b.paths(&shell.Command{Dirs: from}, to)
}

// gitArgumentRefusal judges git's own options, then its subcommand.
func (b boundaryCheck) gitArgumentRefusal(cmd *shell.Command) string {
	args, cwds := cmd.Words[1:], cmd.Dirs
	for len(args) > 0 && strings.HasPrefix(args[0].Text, "-") {
		name, value, rest := shell.GitOption(args)
		var reason string
		switch name {
		case "-C":
			reason = b.gitDirRefusal(cmd, name, value, cwds)
			cwds = b.destinations(value, cwds)
		case "--git-dir", "--work-tree":
			reason = b.gitDirRefusal(cmd, name, value, cwds)
		case "-c":
			reason = gitSettingRefusal(value)
		case "--config-env":
			reason = "--config-env can send git anywhere; leave it out"
		}
		if reason != "" {
			return reason
		}
		args = rest
	}
	switch {
	case len(args) == 0:
		return ""
	case !args[0].Fixed():
		return fmt.Sprintf("where the command writes cannot be traced: git's subcommand in %q is computed; write it out", cmd)
	}
	return gitSharedRefusal(args)
}

// gitSettingRefusal judges a setting given with "git -c".
func gitSettingRefusal(w shell.Word) string {
	key, _, _ := strings.Cut(strings.ToLower(w.Text), "=")
	if !w.Literal || key == "core.worktree" || strings.HasPrefix(key, "alias.") || strings.HasPrefix(key, "include") {
		return fmt.Sprintf("the setting %q can send git anywhere; leave it out", w.Source)
	}
	return ""
}

// gitSharedRefusal refuses subcommands that change what the main checkout shares: other
// worktrees, the configuration, refs and objects.
func gitSharedRefusal(args []shell.Word) string {
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
