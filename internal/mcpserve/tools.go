package mcpserve

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/actorswarm/swarm"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/tool"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// maxWait bounds a call: many clients cancel a call after a minute.
const maxWait = 50 * time.Second

func boundedWait(seconds float64) time.Duration {
	return min(max(time.Duration(seconds*float64(time.Second)), 0), maxWait)
}

func (s *server) addTools() {
	add(s, "send", "Writes to a member of the team. The message is kept on disk at once and reaches the receiver at its next step, even while it works.", s.send)
	add(s, "inbox", "Returns your unread messages, oldest first. With wait_seconds it waits for one when there is none.", s.inbox)
	add(s, "tasks", "Works on the task list that the team shares: list, get, create, claim, complete, release, update. Who has claimed a task is the only one to complete it.", s.tasks)
	add(s, "ask", "Asks the user a question and waits for the answer. If none comes in time the question stays: call ask again with its id.", s.ask)
}

// add makes a tool of a function. An error is a result that the model can act on.
func add[In, Out any](s *server, name, description string, do func(context.Context, In) (*mcp.CallToolResult, Out, error)) {
	mcp.AddTool(s.mcp, &mcp.Tool{Name: name, Description: description}, func(ctx context.Context, _ *mcp.CallToolRequest, in In) (*mcp.CallToolResult, Out, error) {
		if err := s.acknowledgeRead(ctx); err != nil {
			var none Out
			return nil, none, err
		}
		return do(ctx, in)
	})
}

type sendInput struct {
	To      string `json:"to,omitempty" jsonschema:"name of a member, an agent id, team-lead, or * for everyone else"`
	Message string `json:"message,omitempty" jsonschema:"the text; the receiver does not see your conversation"`
	Summary string `json:"summary,omitempty" jsonschema:"five to ten words for a one-line preview"`
	Class   string `json:"class,omitempty" jsonschema:"steer (the default) is read at the next step; mail waits for the end of the receiver's turn"`
	ReplyTo string `json:"reply_to,omitempty" jsonschema:"id of the message that this one answers"`

	RequestID string `json:"request_id,omitempty" jsonschema:"only to answer a shutdown_request, then without to: its request_id; the message is your reason"`
	Approve   *bool  `json:"approve,omitempty" jsonschema:"with request_id: true to end, false to object"`
}

type sendOutput struct {
	Posted []posted `json:"posted"`
}

type posted struct {
	To    string `json:"to"`
	ID    string `json:"id,omitempty"`
	Error string `json:"error,omitempty" jsonschema:"why it was not sent"`
}

func (s *server) send(ctx context.Context, in sendInput) (*mcp.CallToolResult, sendOutput, error) {
	if in.RequestID != "" {
		if in.Approve == nil {
			return nil, sendOutput{Posted: []posted{}}, errors.New("say with approve whether you end")
		}
		return nil, sendOutput{Posted: []posted{}}, s.member.AnswerShutdown(ctx, in.RequestID, *in.Approve, in.Message)
	}
	all, err := s.member.Send(ctx, swarm.Message{
		To: in.To, Text: in.Message, Summary: in.Summary, Class: mailbox.Class(in.Class), ReplyTo: mailbox.ID(in.ReplyTo),
	})
	out := sendOutput{Posted: []posted{}}
	for _, p := range all {
		one := posted{To: p.Name, ID: string(p.ID)}
		if p.Err != nil {
			one.Error = p.Err.Error()
		}
		out.Posted = append(out.Posted, one)
	}
	return nil, out, err
}

type inboxInput struct {
	Wait float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait for a message when there is none; at most 50"`
	Max  int     `json:"max,omitempty" jsonschema:"the most messages to return; 10 when omitted"`

	TextOf string `json:"text_of,omitempty" jsonschema:"id of a message that has a ref: return a part of its text, and no messages"`
	Offset int    `json:"offset,omitempty" jsonschema:"where the part begins; 0 first, then what next said"`
}

type inboxOutput struct {
	Messages []received      `json:"messages"`
	Part     *swarm.TextPart `json:"part,omitempty"`
}

type received struct {
	ID      string `json:"id"`
	From    string `json:"from"`
	Kind    string `json:"kind"`
	Summary string `json:"summary,omitempty"`
	Text    string `json:"text"`
	Ref     string `json:"ref,omitempty" jsonschema:"text is only the beginning of this one; read it with text_of"`
	ReplyTo string `json:"reply_to,omitempty"`
	Sent    string `json:"sent"`
}

func messagesOf(mail []swarm.Mail) []received {
	all := []received{}
	for _, m := range mail {
		all = append(all, received{
			ID: string(m.ID), From: m.From, Kind: string(m.Kind), Summary: m.Summary, Text: m.Text, Ref: string(m.Ref), ReplyTo: string(m.ReplyTo),
			Sent: m.Sent.UTC().Format(time.RFC3339),
		})
	}
	return all
}

func (s *server) inbox(ctx context.Context, in inboxInput) (*mcp.CallToolResult, inboxOutput, error) {
	if in.TextOf != "" {
		part, err := s.member.Text(ctx, mailbox.ID(in.TextOf), in.Offset)
		return nil, inboxOutput{Messages: []received{}, Part: &part}, err
	}
	if in.Max <= 0 {
		in.Max = 10
	}
	mail, err := s.member.Inbox(ctx, min(in.Max, pageSize), boundedWait(in.Wait))
	if err != nil {
		return nil, inboxOutput{}, err
	}
	s.handOut(mail)
	return nil, inboxOutput{Messages: messagesOf(mail)}, nil
}

type tasksInput struct {
	Action      string         `json:"action" jsonschema:"list, get, create, claim, complete, release or update"`
	ID          string         `json:"id,omitempty" jsonschema:"of the task; for all but list and create"`
	Subject     string         `json:"subject,omitempty" jsonschema:"what is to be done, in a few words"`
	Description string         `json:"description,omitempty" jsonschema:"everything that somebody needs to know who was not here"`
	Owner       string         `json:"owner,omitempty" jsonschema:"update: the member that is to do it; it is told"`
	BlockedBy   []string       `json:"blocked_by,omitempty" jsonschema:"ids of tasks that must be done first"`
	Writes      bool           `json:"writes,omitempty" jsonschema:"create: the task changes files"`
	Metadata    map[string]any `json:"metadata,omitempty"`
}

// call returns the tool of the agents that does the action, and its input.
func (in tasksInput) call() (string, map[string]any, error) {
	input := map[string]any{}
	put := func(key string, value any, given bool) {
		if given {
			input[key] = value
		}
	}
	put("taskId", in.ID, in.ID != "")
	put("subject", in.Subject, in.Subject != "")
	put("description", in.Description, in.Description != "")
	put("metadata", in.Metadata, in.Metadata != nil)
	switch in.Action {
	case "list":
		return "TaskList", map[string]any{}, nil
	case "create":
		put("blockedBy", in.BlockedBy, in.BlockedBy != nil)
		put("writes", true, in.Writes)
		return "TaskCreate", input, nil
	}
	if in.ID == "" {
		return "", nil, fmt.Errorf("%q needs the id of a task", in.Action)
	}
	switch in.Action {
	case "get":
		return "TaskGet", map[string]any{"taskId": in.ID}, nil
	case "claim", "complete", "release":
		status := map[string]string{"claim": "in_progress", "complete": "completed", "release": "pending"}[in.Action]
		put("status", status, true)
		return "TaskUpdate", input, nil
	case "update":
		put("owner", in.Owner, in.Owner != "")
		put("addBlockedBy", in.BlockedBy, in.BlockedBy != nil)
		return "TaskUpdate", input, nil
	}
	return "", nil, fmt.Errorf("there is no action %q; there are list, get, create, claim, complete, release and update", in.Action)
}

func (s *server) tasks(ctx context.Context, in tasksInput) (*mcp.CallToolResult, any, error) {
	name, input, err := in.call()
	if err != nil {
		return nil, nil, err
	}
	raw, err := json.Marshal(input)
	if err != nil {
		return nil, nil, err
	}
	r, err := s.member.Task(ctx, name, raw)
	if err != nil {
		return nil, nil, err
	}
	return resultOf(r), nil, nil
}

func resultOf(r tool.Result) *mcp.CallToolResult {
	out := &mcp.CallToolResult{Content: []mcp.Content{&mcp.TextContent{Text: r.Text}}, IsError: r.IsError}
	if len(r.Detail) > 0 {
		out.StructuredContent = r.Detail
	}
	return out
}

type askInput struct {
	Question string   `json:"question,omitempty" jsonschema:"the whole question, as the user reads it"`
	Options  []string `json:"options,omitempty" jsonschema:"answers to choose from; the user may also answer in other words"`
	Multiple bool     `json:"multiple,omitempty" jsonschema:"several options may be chosen together"`
	ID       string   `json:"id,omitempty" jsonschema:"of a question that was asked before: waits for its answer"`
	Wait     *float64 `json:"wait_seconds,omitempty" jsonschema:"how long to wait for the answer; at most 50, which is the default"`
}

type askOutput struct {
	ID     string   `json:"id"`
	State  string   `json:"state" jsonschema:"waiting, answered, declined, expired or withdrawn"`
	Chosen []string `json:"chosen,omitempty"`
	Text   string   `json:"text,omitempty"`
}

func (s *server) ask(ctx context.Context, in askInput) (*mcp.CallToolResult, askOutput, error) {
	wait := maxWait
	if in.Wait != nil {
		wait = boundedWait(*in.Wait)
	}
	var r swarm.Reply
	var err error
	switch {
	case in.ID != "":
		r, err = s.member.Answer(ctx, in.ID, wait)
	case strings.TrimSpace(in.Question) == "":
		err = errors.New("the question is empty; write what the user is to decide")
	default:
		q := event.Choice{Question: in.Question, MultiSelect: in.Multiple}
		for _, o := range in.Options {
			q.Options = append(q.Options, event.Option{Label: o})
		}
		r, err = s.member.Ask(ctx, q, wait)
	}
	return nil, answered(r), err
}

func answered(r swarm.Reply) askOutput {
	out := askOutput{ID: r.ID, State: string(r.State), Text: r.Answer.Text}
	for _, picked := range r.Answer.Choices {
		out.Chosen = append(out.Chosen, picked...)
	}
	switch {
	case r.State == "":
		out.State = "waiting"
	case out.State == "answered" && !r.Answer.IsAnswer():
		out.State, out.Text = "declined", r.Answer.Note
	}
	return out
}
