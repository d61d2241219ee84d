package permission

import (
	"io/fs"
	"path"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/internal/shell"
)

// maxTree is how many names in directories a decision reads.
const maxTree = 10_000

// tree is what a command does with the names below the directories that it copies, moves
// or removes. The names are those at the time of the decision and those that earlier parts
// of the command are known to make; what another process puts there later is not among
// them. A command that acceptEdits allows runs under the profile edit, which besides keeps
// the names that configure tools as they are in the working directories, and the files that
// rules deny and that are there when it starts.
type tree struct {
	changed []string // what appears at the destination, and what is moved away
	removed []string
	// unread is a directory whose names were not all read, as they are too many, cannot be
	// read or are reached through links; "" if there is none.
	unread string
}

// readTrees returns the trees of the commands that have one.
func readTrees(c *call) map[*shell.Command]tree {
	if c.trees == nil && c.shell != nil && c.policy.ReadDir != nil {
		c.trees = map[*shell.Command]tree{}
		r := treeReader{call: c, left: maxTree}
		for i := range c.shell.Commands {
			cmd := &c.shell.Commands[i]
			if t, ok := cmd.Transfer(); ok {
				c.trees[cmd] = r.read(cmd, t)
			}
			r.made = slices.Concat(r.made, c.commandWrites(cmd), c.trees[cmd].changed)
		}
	}
	return c.trees
}

// treeChanges returns the paths below directories that the command copies or moves, where
// they appear and from where they go.
func treeChanges(c *call) []string {
	var out []string
	for _, t := range readTrees(c) {
		out = append(out, t.changed...)
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// treeRemovals returns the paths below directories that the command removes without a rule
// that allows it.
func treeRemovals(c *call) []string {
	var out []string
	if _, ok := c.bareRule(); ok {
		return nil
	}
	for cmd, t := range readTrees(c) {
		if rule, _ := c.ruleFor(cmd); rule.Tool == "" {
			out = append(out, t.removed...)
		}
	}
	slices.Sort(out)
	return out
}

// unreadTree returns a directory that the command copies, moves or, if removed is set,
// removes, and whose names were not all read, or "".
func unreadTree(c *call, removed bool) string {
	for i := range c.shell.Commands {
		cmd := &c.shell.Commands[i]
		if t := readTrees(c)[cmd]; t.unread != "" {
			if x, _ := cmd.Transfer(); removed || len(x.To) > 0 {
				return t.unread
			}
		}
	}
	return ""
}

// mayEditTree reports whether mode acceptEdits lets cmd change all that the directories hold
// which it copies, moves or removes.
func mayEditTree(c *call, cmd *shell.Command) bool {
	t := readTrees(c)[cmd]
	may := func(p string) bool { return mayEditUnasked(c, p) }
	return t.unread == "" && every(t.changed, may) && every(t.removed, may)
}

func every(paths []string, ok func(path string) bool) bool {
	return !slices.ContainsFunc(paths, func(p string) bool { return !ok(p) })
}

// checkTrees has a person asked about a directory that is copied or moved and whose names
// were not all read, if rules deny or ask about changes of certain files.
func checkTrees(c *call) (Decision, bool) {
	restricts := func(r Rule) bool { return toolName(r.Tool) == "Edit" && !r.bare() }
	if c.shell == nil || !slices.ContainsFunc(c.policy.Deny, restricts) && !slices.ContainsFunc(c.policy.Ask, restricts) {
		return Decision{}, false
	}
	dir := unreadTree(c, false)
	return Decision{Behavior: Ask, Rule: "unread directory", Reason: "the rules for files cannot be applied to all that " + dir + " holds"}, dir != ""
}

// treeReader reads the trees of a script's commands in their order.
type treeReader struct {
	*call
	left int      // how many names may still be read
	made []string // what the commands before are known to write
}

func (r *treeReader) read(cmd *shell.Command, x shell.Transfer) tree {
	var t tree
	for _, from := range x.From {
		for _, source := range r.sources(cmd, from) {
			names, links, whole := r.below(source)
			if !whole || links && x.Follows {
				t.unread = source
			}
			for _, to := range x.To {
				for _, root := range r.destinations(cmd, x, from, to, source) {
					t.changed = appendBelow(append(t.changed, root), root, names)
				}
			}
			switch {
			case len(x.To) == 0:
				t.removed = appendBelow(t.removed, source, names)
			case x.Moves:
				t.changed = appendBelow(t.changed, source, names)
			}
		}
	}
	if r.left < 0 && t.unread == "" {
		t.unread = r.cwd
	}
	return t
}

func appendBelow(paths []string, dir string, names []string) []string {
	for _, name := range names {
		paths = append(paths, filepath.Join(dir, name))
	}
	return paths
}

// destinations returns the paths at which source may appear.
func (r *treeReader) destinations(cmd *shell.Command, x shell.Transfer, from, to shell.Word, source string) []string {
	var out []string
	for _, dest := range r.paths(cmd, to) {
		out = append(out, dest, filepath.Join(dest, path.Base(source)))
		if x.Parents {
			out = append(out, filepath.Join(dest, "/"+from.Text))
		}
	}
	return out
}

// sources returns the paths that an operand stands for, with its wildcards replaced.
func (r *treeReader) sources(cmd *shell.Command, w shell.Word) []string {
	var out []string
	for _, text := range shell.Alternatives(w) {
		for _, p := range r.paths(cmd, shell.Literal(text)) {
			if w.Glob {
				out = append(out, r.matches(p)...)
			} else {
				out = append(out, p)
			}
		}
	}
	return out
}

// matches returns the paths that match a pattern, and perhaps more.
func (r *treeReader) matches(pattern string) []string {
	dirs := []string{"/"}
	for part := range strings.SplitSeq(strings.Trim(pattern, "/"), "/") {
		var next []string
		for _, dir := range dirs {
			if !strings.ContainsAny(part, "*?[") {
				next = append(next, filepath.Join(dir, part))
				continue
			}
			for _, name := range r.namesIn(dir) {
				if ok, err := path.Match(part, name); ok || err != nil || strings.Contains(part, "[") {
					next = append(next, filepath.Join(dir, name))
				}
			}
		}
		dirs = next
	}
	return dirs
}

// namesIn returns the names in a directory.
func (r *treeReader) namesIn(dir string) []string {
	var names []string
	for _, m := range r.made {
		if r.within(m, dir) && len(m) > len(dir) {
			name, _, _ := strings.Cut(strings.TrimPrefix(m[len(dir):], "/"), "/")
			names = append(names, name)
		}
	}
	entries, err := r.policy.ReadDir(r.real(dir), max(r.left, 0)+1)
	if r.left -= len(entries); err != nil {
		r.left = -1
	}
	for _, e := range entries {
		names = append(names, e.Name())
	}
	return names
}

// below returns the names below a directory, relative to it, and whether there are links
// among them. whole is false if there may be more.
func (r *treeReader) below(dir string) (names []string, links, whole bool) {
	for _, m := range r.made {
		if r.within(m, dir) && len(m) > len(dir) {
			names = append(names, strings.TrimPrefix(m[len(dir):], "/"))
		}
	}
	r.left -= len(names)
	top := r.real(dir)
	for open := []string{""}; len(open) > 0 && r.left >= 0; {
		at := open[len(open)-1]
		open = open[:len(open)-1]
		entries, err := r.policy.ReadDir(filepath.Join(top, at), r.left+1)
		if err != nil {
			return names, links, false
		}
		r.left -= len(entries)
		for _, e := range entries {
			name := filepath.Join(at, e.Name())
			names = append(names, name)
			links = links || e.Type()&fs.ModeSymlink != 0
			if e.IsDir() {
				open = append(open, name)
			}
		}
	}
	return names, links, r.left >= 0
}

// real returns where a path leads.
func (r *treeReader) real(dir string) string {
	forms := r.forms(dir)
	return forms[len(forms)-1]
}
