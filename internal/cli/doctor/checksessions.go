package doctor

import (
	"context"
	"fmt"
	"net"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli/view"
)

// maxSessions is how many sessions doctor opens, newest first.
const maxSessions = 20

// checkSessions checks the sessions of the directory that no process runs.
func (a *checker) checkSessions(ctx context.Context, dir string) []finding {
	all, err := a.Sessions().List(dir)
	if err != nil {
		return []finding{findingf(fail, "sessions", "%v", err)}
	}
	looked := all[:min(len(all), maxSessions)]
	var found []finding
	running := 0
	for _, info := range looked {
		r, err := a.Sessions().Dial(info)
		if err == nil {
			r.Close()
			running++
			continue
		}
		found = append(found, a.checkSession(ctx, info)...)
	}
	if len(found) > 0 {
		return found
	}
	return []finding{findingf(ok, "sessions", "%s of %d here whole, %d running", view.Plural(len(looked), "session"), len(all), running)}
}

func (a *checker) checkSession(ctx context.Context, info swarm.Info) []finding {
	notes, err := swarm.Notes(ctx, info)
	if err != nil {
		// A process that holds the journal without answering has lost its socket, or is
		// just starting.
		g := fail
		if strings.Contains(err.Error(), "is held by") {
			g = warn
		}
		return []finding{findingf(g, "sessions", "%s: %v", info.ID, err)}
	}
	var found []finding
	for _, note := range notes {
		g := warn
		if strings.Contains(note, "is damaged") {
			g = fail
		}
		found = append(found, findingf(g, "sessions", "%s: %s", info.ID, note))
	}
	return found
}

// checkSockets finds sockets that processes have left. They are harmless: the next
// process of the session replaces its socket.
func (a *checker) checkSockets(ctx context.Context, _ string) []finding {
	state, err := a.Sessions().StateDir()
	if err != nil {
		return []finding{findingf(fail, "sockets", "%v", err)}
	}
	paths, err := filepath.Glob(filepath.Join(state, "run", "*.sock"))
	if err != nil {
		return []finding{findingf(fail, "sockets", "%v", err)}
	}
	var found []finding
	alive := 0
	for _, path := range paths {
		if err := dialSocket(ctx, path); err != nil {
			id := strings.TrimSuffix(filepath.Base(path), ".sock")
			found = append(found, findingf(warn, "sockets", "%s was left by a process that died; go on with: swarm resume %s", path, id))
			continue
		}
		alive++
	}
	if len(found) > 0 {
		return found
	}
	return []finding{findingf(ok, "sockets", "%d in use, none left over", alive)}
}

// dialSocket returns an error if no process listens on a socket.
func dialSocket(ctx context.Context, path string) error {
	conn, err := new(net.Dialer).DialContext(ctx, "unix", path)
	if err != nil {
		return fmt.Errorf("connect to %s: %w", path, err)
	}
	return conn.Close()
}
