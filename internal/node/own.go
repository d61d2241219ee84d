package node

import (
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/internal/transcript"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/session"
)

// outputs are the directories with what belongs to one agent each: the long output of its
// tools, the long messages that it has got, and texts of which a request carried a part.
type outputs struct {
	dir   string
	store *transcript.Store
}

func (n *Node) outputs() outputs { return outputs{filepath.Join(n.options.Path, "outputs"), n.Store} }

// of returns the directory of an agent.
func (o outputs) of(id mailbox.AgentID) string {
	return filepath.Join(o.dir, statefile.Name(string(id)))
}

// readable returns the directories whose files an agent may read: its own, and those of
// the agents with whose conversation it began.
func (o outputs) readable(spec agent.Spec) []string {
	dirs := []string{o.of(spec.ID)}
	for spec.Fork {
		parent, ok := o.store.Get(spec.Parent)
		if !ok || parent.ID() == spec.ID {
			break
		}
		spec = parent.Spec()
		dirs = append(dirs, o.of(spec.ID))
	}
	return dirs
}

// save writes a text to the directory of an agent, and returns the path.
func (o outputs) save(id mailbox.AgentID, name, text string) (string, error) {
	path := filepath.Join(o.of(id), statefile.Name(name)+".txt")
	if err := statefile.MakeDirs(o.dir, filepath.Base(o.of(id))); err != nil {
		return path, err
	}
	return path, statefile.Write(path, []byte(text))
}

// mail returns a file of an agent with the whole body of a message that it has got. Where
// none can be made, reading it reports that.
func (o outputs) mail(id mailbox.AgentID, ref mailbox.Ref) string {
	name := "mail-" + ref.Hash()
	path := filepath.Join(o.of(id), statefile.Name(name)+".txt")
	if info, err := os.Stat(path); err == nil && info.Size() == ref.Size() {
		return path
	}
	if body, err := o.store.Object(ref); err == nil {
		_, _ = o.save(id, name, string(body)) // what is missing is seen when it is read
	}
	return path
}

// private returns what reports the files of the state directory that no tool of an agent
// reaches: all but what it has of its own there, and what any agent of the session may be
// allowed to read, which are the conversations, worktrees and the record. root is the
// directory of the session; "" is none.
func (c Config) private(root string, own []string) func(path string) bool {
	state := forms(c.hidden())
	own = slices.DeleteFunc(forms(own), func(dir string) bool { return !isBelow(dir, state) })
	return func(path string) bool {
		if !isBelow(path, state) || isBelow(path, own) {
			return false
		}
		rest, within := strings.CutPrefix(path, root+"/")
		return root == "" || !within || !isShared(rest)
	}
}

// isShared reports a path, below the directory of a session, that any of its agents may be
// allowed to read. An agent in a process of its own has such a directory below nodes.
func isShared(path string) bool {
	parts := strings.Split(path, "/")
	if parts[0] == "nodes" && len(parts) > 2 {
		parts = parts[2:]
	}
	return slices.Contains([]string{"transcripts", "worktrees", session.RecordName}, parts[0])
}

// forms returns paths with what they lead to.
func forms(paths []string) []string {
	all := slices.Clone(paths)
	for _, p := range paths {
		if real := Resolve(p); real != p {
			all = append(all, real)
		}
	}
	return all
}

// isBelow reports whether a path is one of some directories or lies below one.
func isBelow(path string, dirs []string) bool {
	return slices.ContainsFunc(dirs, func(d string) bool { return path == d || strings.HasPrefix(path, strings.TrimSuffix(d, "/")+"/") })
}
