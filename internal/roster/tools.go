package roster

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/internal/coordinator"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/team"
	"github.com/actorswarm/swarm/tool"
)

// toolNames are the names of the tools that Tools returns.
var toolNames = [...]string{"SendMessage", "ListAgents", "TaskCreate", "TaskGet", "TaskList", "TaskUpdate"}

// ToolNames returns the names of this package's tools.
func ToolNames() []string { return toolNames[:] }

// Tools returns the tools with which one agent writes to others; TaskTools returns the
// rest.
func (r *Roster) Tools(self coordinator.Agent) []tool.Tool {
	return []tool.Tool{&sendTool{r, self}, &listTool{r, self}}
}

type sendTool struct {
	roster *Roster
	self   coordinator.Agent
}

const sendSchema = `{"type":"object","properties":{` +
	`"to":{"type":"string","description":"A teammate's name, team/name for a member of another team, an agent id, team-lead, * for everyone else, or another session: uds:PATH or its id as ListAgents shows them"},` +
	`"message":{"description":"The text; the receiver does not see your conversation. Or an object: {type: shutdown_request, reason} asks an agent of yours to end, ` +
	`{type: shutdown_response, request_id, approve, reason} answers that, {type: plan_approval_response, request_id, approve, feedback} decides about a plan that was shown to you",` +
	`"anyOf":[{"type":"string"},{"type":"object","properties":{` +
	`"type":{"type":"string","enum":["shutdown_request","shutdown_response","plan_approval_response"]},` +
	`"request_id":{"type":"string"},"approve":{"type":"boolean"},"reason":{"type":"string"},"feedback":{"type":"string"},"permission_mode":{"type":"string"}},"required":["type"]}]},` +
	`"summary":{"type":"string","description":"Five to ten words for a one-line preview"},` +
	`"class":{"type":"string","enum":["steer","mail","control"],"description":"When it is read: steer (default) at the next step, mail when the receiver's turn has ended, ` +
	`control at once, cutting what it does (only to agents that you started)"},` +
	`"reply_to":{"type":"string","description":"The message_id that this answers"}` +
	`},"required":["to","message"]}`

func (s *sendTool) Spec() tool.Spec {
	return tool.Spec{
		Name: "SendMessage",
		Description: "Writes to another agent. The message is kept on disk at once and reaches the receiver at its next step, even while it works. " +
			"What others write to you arrives by itself; there is nothing to poll.",
		Schema:   json.RawMessage(sendSchema),
		Recorded: true,
	}
}

type sendInput struct {
	To      string          `json:"to"`
	Message json.RawMessage `json:"message"`
	Summary string          `json:"summary"`
	Class   mailbox.Class   `json:"class"`
	ReplyTo mailbox.ID      `json:"reply_to"`
}

// structured reports whether the message is an object.
func (in sendInput) structured() bool {
	return bytes.HasPrefix(bytes.TrimSpace(in.Message), []byte("{"))
}

func (in sendInput) check() error {
	switch {
	case !in.Class.Valid():
		return fmt.Errorf("there is no class %q; there are steer, mail and control", in.Class)
	case in.ReplyTo != "" && !in.ReplyTo.Valid():
		return fmt.Errorf("reply_to %.80q is no message_id", in.ReplyTo)
	case in.structured() && in.To == team.Everyone:
		return errors.New("a protocol message goes to one agent: name it")
	}
	return nil
}

// text returns the message as text; JSON other than a string is refused.
func (in sendInput) text() (string, error) {
	var text string
	if err := json.Unmarshal(in.Message, &text); err != nil {
		return "", errors.New("message must be a text")
	}
	if strings.TrimSpace(text) == "" {
		return "", errors.New("the message is empty")
	}
	return text, nil
}

func (s *sendTool) Run(_ context.Context, c tool.Call) (tool.Result, error) {
	var in sendInput
	if bad, ok := tool.Decode(c, &in); !ok {
		return bad, nil
	}
	if err := in.check(); err != nil {
		return tool.Errorf("not sent: %v", err), nil
	}
	// Some providers use call ids again in later answers.
	key := strconv.Itoa(s.self.Transcript.Record().Steps) + " " + c.ID
	if in.structured() {
		return s.step(in, key), nil
	}
	sent, err := s.send(in, key)
	if err != nil {
		var full *mailbox.FullError
		if errors.As(err, &full) {
			return tool.Errorf("not sent: the mailbox of %s is full (%d messages wait there); go on with something else and try later", in.To, full.Queued), nil
		}
		return tool.Errorf("not sent: %v", err), nil
	}
	return s.result(sent), nil
}

// send does not wait for the disk: the request that gives the model the result is recorded
// after the message, and is sent only once both are on disk.
func (s *sendTool) send(in sendInput, call string) ([]posted, error) {
	text, err := in.text()
	if err != nil {
		return nil, err
	}
	return s.roster.record(s.self.Transcript, team.Message{
		To: in.To, Text: text, Summary: cmp.Or(in.Summary, mailbox.FirstLine(text, summaryLength)), Class: in.Class, ReplyTo: in.ReplyTo, Key: call,
	})
}

func (s *sendTool) result(sent []posted) tool.Result {
	var text strings.Builder
	failed := 0
	for _, p := range sent {
		if p.Err != nil {
			failed++
			fmt.Fprintf(&text, "not sent to %s: %v\n", p.Name, p.Err)
			continue
		}
		fmt.Fprintf(&text, "queued for %s, id=%s (not yet delivered)\n", p.Name, p.ID)
	}
	return tool.Result{
		Text:    strings.TrimSuffix(text.String(), "\n"),
		IsError: failed == len(sent),
		Detail:  sendDetail(sent, failed),
	}
}

func sendDetail(sent []posted, failed int) json.RawMessage {
	ids := make(map[string]mailbox.ID, len(sent))
	for _, p := range sent {
		if p.Err == nil {
			ids[p.Name] = p.ID
		}
	}
	raw, err := json.Marshal(map[string]any{
		"success": failed == 0, "message": fmt.Sprintf("%d of %d queued", len(sent)-failed, len(sent)), "ids": ids,
	})
	if err != nil {
		return nil // cannot happen: plain data can be encoded
	}
	return raw
}

// summaryLength bounds the characters of a summary that the runtime makes.
const summaryLength = 200

type listTool struct {
	roster *Roster
	self   coordinator.Agent
}

func (l *listTool) Spec() tool.Spec {
	return tool.Spec{
		Name:        "ListAgents",
		Description: "Lists the agents you can write to, with their type and what they are doing, and the other sessions of the user on this machine.",
		Schema:      json.RawMessage(`{"type":"object","properties":{}}`),
		ReadOnly:    true,
		Parallel:    true,
	}
}

func (l *listTool) Run(context.Context, tool.Call) (tool.Result, error) {
	var text strings.Builder
	fmt.Fprintf(&text, "You are %s.\n", agent.DisplayName(l.self.Spec))
	all, err := l.roster.Members()
	for _, m := range all {
		if s := m.Record.Spec; s.ID != l.self.Spec.ID {
			fmt.Fprintf(&text, "%s (%s, id %s%s): %s\n", agent.DisplayName(s), s.Type, s.ID, l.elsewhere(s), m.State.Name)
		}
	}
	if err != nil {
		fmt.Fprintf(&text, "There may be more: %v\n", err)
	}
	text.WriteString(l.otherSessions())
	return tool.Result{Text: strings.TrimSuffix(text.String(), "\n")}, nil
}

// elsewhere returns the teams of an agent if it works in another team than the caller.
func (l *listTool) elsewhere(s agent.Spec) string {
	home := l.roster.agents.Home(l.self.Transcript.Spec())
	teams := l.roster.agents.Teams(s)
	if len(teams) == 0 || slices.ContainsFunc(teams, func(m agent.Membership) bool { return m.Team == home.Team }) {
		return ""
	}
	return ", team " + teams[0].Name
}
