package swarm

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"

	"github.com/actorswarm/swarm/actors"
	"github.com/actorswarm/swarm/internal/statefile"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team/board"
)

// Compact replaces the older part of an agent's conversation, by name or id, by
// a summary that its model makes. It returns when that is recorded: an agent at
// work is compacted at its next step. The record keeps the whole.
func (s *Session) Compact(ctx context.Context, name string) error {
	ctx, cancel := joined(ctx, s.scope)
	defer cancel()
	t, err := s.roster.Find(name)
	if err != nil {
		_, err = s.nodes.askBelow(ctx, name, doCompactBelow, err)
		return err
	}
	return s.agents.Compact(ctx, t.ID())
}

// window returns how many tokens the context of a model holds, 0 if nobody
// knows: as the user says, or else as the table of models does, but no more than
// what CLAUDE_CODE_AUTO_COMPACT_WINDOW allows.
func (s *Session) window(id string) int64 {
	w := int64(s.opts.Window)
	if w == 0 {
		w = s.prices.Window(id)
	}
	if limit := int64(s.opts.compactWindow); limit > 0 && (w == 0 || limit < w) {
		w = limit
	}
	return w
}

// spill keeps a text of which an agent was given a part among the outputs, which
// every agent may read.
func (s *Session) spill(a mailbox.AgentID, id, text string) (string, error) {
	path := filepath.Join(s.Info().Path, "outputs", fileName(string(a)+"-"+id)+".txt")
	return path, statefile.Write(path, []byte(text))
}

// fileName makes an id fit to be the name of a file.
func fileName(id string) string {
	name := strings.Map(func(r rune) rune {
		if r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || r == '-' || r == '_' {
			return r
		}
		return '_'
	}, id)
	return name[:min(len(name), 120)]
}

// mostTasks is how many open tasks an agent is told of after a compaction.
const mostTasks = 50

// facts adds the open tasks to what an agent is told after a compaction, if its
// session uses the list.
func (s *Session) facts(a actors.Agent) string {
	var all []string
	for i, m := range s.roster.Of(a.Transcript.Spec()) {
		of := "the shared list"
		if i > 0 {
			of = "the list of team " + m.Name
		}
		if text := s.openTasks(m.Team, of); text != "" {
			all = append(all, text)
		}
	}
	return strings.Join(all, "\n")
}

func (s *Session) openTasks(team, of string) string {
	list, ok := s.boards.Open(s.listOf(team))
	if !ok {
		return ""
	}
	var lines []string
	for _, t := range list.List() {
		if t.Status == board.Completed {
			continue
		}
		line := fmt.Sprintf("- %s %s: %s", t.ID, t.Status, t.Subject)
		if t.Owner != "" {
			line += " (" + t.Owner + ")"
		}
		lines = append(lines, line)
	}
	switch n := len(lines); {
	case n == 0:
		return "No task of " + of + " is open."
	case n > mostTasks:
		lines = append(lines[:mostTasks], fmt.Sprintf("and %d more: TaskList", n-mostTasks))
	}
	return "Open tasks of " + of + ":\n" + strings.Join(lines, "\n")
}
