package stream

import (
	"cmp"
	"path/filepath"
	"time"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/cli/view"
)

// task is what the stream shows of a child.
type task struct {
	what  string
	begun time.Time
	tools int
	total int64 // tokens
}

type taskUsage struct {
	Tokens     int64 `json:"total_tokens"`
	ToolUses   int   `json:"tool_uses"`
	DurationMS int64 `json:"duration_ms"`
}

type taskLine struct {
	line
	Task        string     `json:"task_id"`
	Call        string     `json:"tool_use_id,omitempty"`
	Description string     `json:"description,omitempty"`
	Kind        string     `json:"task_type,omitempty"`
	Agent       string     `json:"subagent_type,omitempty"`
	Name        string     `json:"name,omitempty"`
	Background  *bool      `json:"is_backgrounded,omitempty"`
	Usage       *taskUsage `json:"usage,omitempty"`
	LastTool    string     `json:"last_tool_name,omitempty"`
	Status      string     `json:"status,omitempty"`
	Output      string     `json:"output_file,omitempty"`
	Summary     string     `json:"summary,omitempty"`
	Reason      string     `json:"reason,omitempty"`
}

// task writes the lines about a child's life.
func (s *Writer) task(e event.Event) {
	if e.Agent.ID == agent.LeadID {
		return
	}
	t := s.tasks[e.Agent.ID]
	switch f := e.Fact.(type) {
	case event.Started:
		s.writeInit()
		s.taskStarted(e, f)
	case event.Answered:
		if t != nil {
			u := f.Answer.Usage
			t.total += u.InputTokens + u.OutputTokens + u.CacheCreationInputTokens + u.CacheReadInputTokens
		}
	case event.CallFinished:
		if t != nil {
			t.tools++
		}
	case event.Progress:
		if t != nil {
			s.writeInit()
			l := s.taskLine("task_progress", e, t)
			l.Agent, l.LastTool = e.Agent.Type, f.LastTool
			s.write(l)
		}
	case event.TurnEnded:
		s.writeInit()
		s.taskEnded(e, f)
	}
}

func (s *Writer) taskStarted(e event.Event, f event.Started) {
	t := &task{what: cmp.Or(f.Task, view.FirstLine(f.Prompt)), begun: e.Time}
	s.tasks[e.Agent.ID] = t
	l := s.taskLine("task_started", e, t)
	background := f.Background
	if e.Agent.Name != string(e.Agent.ID) {
		l.Name, background = e.Agent.Name, true // no call waits for a teammate
	}
	l.Kind, l.Agent, l.Background, l.Usage = "local_agent", e.Agent.Type, &background, nil
	if e.Agent.Type == "fork" {
		l.Status = "sub_agent_entered" // it continues a copy of the conversation
	}
	s.write(l)
}

func (s *Writer) taskEnded(e event.Event, f event.TurnEnded) {
	t := s.tasks[e.Agent.ID]
	if t == nil { // it was started before a restart of the session
		t = &task{begun: e.Time.Add(-f.Took)}
		s.tasks[e.Agent.ID] = t
	}
	l := s.taskLine("task_notification", e, t)
	l.Description, l.Status, l.Summary, l.Reason = "", taskStatus(f.Outcome), f.Text, f.Reason
	l.Output = filepath.Join(s.transcripts, l.Task+".jsonl")
	s.write(l)
}

// taskStatus returns the outcome in the three words of this format.
func taskStatus(outcome string) string {
	switch outcome {
	case "completed", "stopped":
		return outcome
	case "interrupted":
		return "stopped"
	}
	return "failed"
}

func (s *Writer) taskLine(subtype string, e event.Event, t *task) taskLine {
	return taskLine{
		line: s.head("system", subtype), Task: string(e.Agent.ID), Call: e.Agent.Call, Description: t.what,
		Usage: &taskUsage{Tokens: t.total, ToolUses: t.tools, DurationMS: e.Time.Sub(t.begun).Milliseconds()},
	}
}
