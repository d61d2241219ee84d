package stream

import (
	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
)

type statusLine struct {
	line
	Status *string `json:"status"` // null: nothing special
	Agent  string  `json:"agent_id,omitempty"`
}

type boundaryLine struct {
	line
	Agent    string   `json:"agent_id,omitempty"`
	Metadata boundary `json:"compact_metadata"`
}

type boundary struct {
	Trigger    string `json:"trigger"`
	PreTokens  int64  `json:"pre_tokens"`
	DurationMS int64  `json:"duration_ms"`
}

// agentOf returns the id of an agent, or "" for the lead.
func agentOf(a event.Agent) string {
	if a.ID == agent.LeadID {
		return ""
	}
	return string(a.ID)
}

// compacted ends the status and, if the compaction succeeded, marks where the summary
// begins.
func (s *Writer) compacted(a event.Agent, f event.Compacted) {
	s.write(statusLine{s.head("system", "status"), nil, agentOf(a)})
	if f.Failed != "" {
		s.write(noteLine{s.head("system", "informational"), "the conversation was not compacted: " + f.Failed})
		return
	}
	s.write(boundaryLine{s.head("system", "compact_boundary"), agentOf(a), boundary{
		Trigger: f.Trigger, PreTokens: f.Tokens, DurationMS: f.Took.Milliseconds(),
	}})
}
