package view

import (
	"cmp"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/term"
)

// SessionRow is a session in the output of ps.
type SessionRow struct {
	ID      string `json:"id"`
	Running bool   `json:"running"`
	// Starting is set if a process holds the session and does not answer.
	Starting bool       `json:"starting,omitempty"`
	Dir      string     `json:"dir"`
	Created  time.Time  `json:"created"`
	Prompt   string     `json:"prompt,omitempty"`
	Agents   []AgentRow `json:"agents,omitempty"`
}

func NewSessionRow(info swarm.Info, running bool) SessionRow {
	return SessionRow{ID: info.ID, Running: running, Starting: !running && info.Open(), Dir: info.Dir, Created: info.Created, Prompt: info.Prompt}
}

// SessionTable formats one line for each session, and the agents of the only one that
// runs.
func SessionTable(scr cli.Screen, list []SessionRow, now time.Time) string {
	var b strings.Builder
	short := shortIDs(list)
	for i, s := range list {
		state := "stopped"
		switch {
		case s.Running:
			state = "running"
		case s.Starting:
			state = "starting"
		}
		head := fmt.Sprintf("%-10s  %-8s %-6s  ", short[i], state, duration(now.Sub(s.Created)))
		fmt.Fprintln(&b, head+term.Cut(term.Clean(cmp.Or(s.Prompt, "(no prompt yet)")), max(10, scr.Width()-len(head))))
		if len(s.Agents) > 0 {
			b.WriteString(Indent(Tree(scr, s.Agents, now, inset)))
		}
	}
	return b.String()
}

// shortIDs returns the shortest unique prefixes of ids, of 8 characters or more. All
// commands accept them.
func shortIDs(list []SessionRow) []string {
	n := 8
	for ; n < 64; n++ {
		seen := map[string]bool{}
		for _, s := range list {
			seen[s.ID[:min(n, len(s.ID))]] = true
		}
		if len(seen) == len(list) {
			break
		}
	}
	out := make([]string, len(list))
	for i, s := range list {
		out[i] = s.ID[:min(n, len(s.ID))]
	}
	return out
}

// inset is the indentation of agents below their session.
const inset = 4

func Indent(text string) string {
	by := strings.Repeat(" ", inset)
	return by + strings.ReplaceAll(strings.TrimSuffix(text, "\n"), "\n", "\n"+by) + "\n"
}
