package stream

import (
	"cmp"
	"encoding/json"
	"io"

	"github.com/actorswarm/swarm/agent"
	"github.com/actorswarm/swarm/event"
	"github.com/actorswarm/swarm/internal/autojudge"
	"github.com/actorswarm/swarm/internal/cli"
	"github.com/actorswarm/swarm/internal/cli/view"
	"github.com/actorswarm/swarm/mailbox"
	"github.com/actorswarm/swarm/model"
	"github.com/google/uuid"
)

// Writer writes events as one JSON object a line. The first line is system/init, the
// last is the result.
type Writer struct {
	out          io.Writer
	err          error  // the first error of a write; nothing is written after it
	onWriteError func() // called at the first error
	session      string
	setup        func() Setup
	forward      bool // show the texts of children too
	// transcripts is the folder with a file for each agent.
	transcripts string
	begun       bool

	tally *tally
	tasks map[mailbox.AgentID]*task
	mail  map[mailbox.ID]mailLine
}

// Setup is the configuration that a session was started with.
type Setup struct {
	Dir, Model, Mode, KeySource string
	Tools, Agents               []string
}

// Options configure New. Fields that are empty are left out of the output.
type Options struct {
	Session      string
	Transcripts  string       // the folder with a file for each agent
	Forward      bool         // show the texts of children too
	Setup        func() Setup // asked when the first line is written
	OnWriteError func()       // called when a line cannot be written
}

// New returns a view that writes to out.
func New(out io.Writer, o Options) *Writer {
	return &Writer{
		out: out, session: o.Session, forward: o.Forward, onWriteError: o.OnWriteError, setup: o.Setup, transcripts: o.Transcripts,
		tally: newTally(), tasks: map[mailbox.AgentID]*task{}, mail: map[mailbox.ID]mailLine{},
	}
}

// line has the fields of all lines.
type line struct {
	Type    string `json:"type"`
	Subtype string `json:"subtype,omitempty"`
	UUID    string `json:"uuid"`
	Session string `json:"session_id"`
}

func (s *Writer) head(typ, subtype string) line {
	return line{Type: typ, Subtype: subtype, UUID: uuid.NewString(), Session: s.session}
}

func (s *Writer) write(v any) {
	if s.err != nil {
		return
	}
	if s.err = cli.WriteJSON(s.out, v); s.err != nil && s.onWriteError != nil {
		s.onWriteError()
	}
}

type initLine struct {
	line
	Cwd        string   `json:"cwd"`
	Tools      []string `json:"tools"`
	MCPServers []string `json:"mcp_servers"`
	Model      string   `json:"model"`
	Mode       string   `json:"permissionMode"`
	Commands   []string `json:"slash_commands"`
	KeySource  string   `json:"apiKeySource"`
	Version    string   `json:"swarm_version"`
	Style      string   `json:"output_style"`
	Agents     []string `json:"agents"`
	Skills     []string `json:"skills"`
	Plugins    []string `json:"plugins"`
}

func (s *Writer) writeInit() {
	if s.begun {
		return
	}
	s.begun = true
	at := s.setup()
	tools := make([]string, 0, len(at.Tools))
	for _, name := range at.Tools {
		if name == "Agent" {
			name = "Task" // the name in this format
		}
		tools = append(tools, name)
	}
	none := []string{}
	s.write(initLine{
		line: s.head("system", "init"), Cwd: at.Dir, Tools: tools, MCPServers: none, Model: at.Model,
		Mode: at.Mode, Commands: none, KeySource: at.KeySource, Version: cli.Version(), Style: "default",
		Agents: append(none, at.Agents...), Skills: none, Plugins: none,
	})
}

// Handle writes the lines for e, if any.
func (s *Writer) Handle(e event.Event) {
	s.tally.add(e)
	switch f := e.Fact.(type) {
	case event.Asked:
		s.writeInit()
		s.write(noteLine{s.head("system", "informational"), view.AgentLabel(e.Agent) + " " + view.AskedLine(f.Question)})
	case event.Delta, event.StateChanged, event.Requested:
		return // not part of this format
	case event.Answered:
		s.writeInit()
		s.answered(e.Agent, f)
	case event.CallFinished:
		s.writeInit()
		s.finished(e.Agent, f)
	case event.Denied:
		s.writeInit()
		s.denied(e.Agent, f)
	case event.Judged:
		s.writeInit()
		s.judged(e.Agent, f)
	case event.BackingOff:
		s.writeInit()
		s.retry(f.Backoff)
	case event.MailSent, event.MailArrived, event.MailStateChanged:
		s.writeInit()
		s.mailFact(f)
	case event.Compacting:
		s.writeInit()
		compacting := "compacting"
		s.write(statusLine{s.head("system", "status"), &compacting, agentOf(e.Agent)})
	case event.Compacted:
		s.writeInit()
		s.compacted(e.Agent, f)
	case event.Warning:
		s.writeInit()
		s.write(noteLine{s.head("system", "informational"), f.Text})
	case event.Hint:
		s.writeInit()
		s.write(noteLine{s.head("system", "informational"), f.Text})
	}
	s.task(e)
}

type noteLine struct {
	line
	Content string `json:"content"`
}

// parentCall returns the id of the call that started an agent, or nil for the lead.
func parentCall(a event.Agent) *string {
	if a.ID == agent.LeadID || a.Call == "" {
		return nil
	}
	return &a.Call
}

type assistantLine struct {
	line
	Message apiMessage `json:"message"`
	Parent  *string    `json:"parent_tool_use_id"`
}

type apiMessage struct {
	ID         string          `json:"id,omitempty"`
	Type       string          `json:"type,omitempty"`
	Role       string          `json:"role"`
	Model      string          `json:"model,omitempty"`
	Content    json.RawMessage `json:"content"`
	StopReason string          `json:"stop_reason,omitempty"`
	Usage      *model.Usage    `json:"usage,omitempty"`
}

func (s *Writer) answered(a event.Agent, f event.Answered) {
	content := contentOf(f.Answer.Message)
	if a.ID != agent.LeadID && !s.forward {
		if content = onlyCalls(content); content == nil {
			return
		}
	}
	raw, err := json.Marshal(content)
	if err != nil {
		s.err = err
		return
	}
	s.write(assistantLine{s.head("assistant", ""), apiMessage{
		ID: f.Answer.ID, Type: "message", Role: "assistant", Model: f.Answer.Model, Content: raw,
		StopReason: f.Answer.StopReason, Usage: &f.Answer.Usage,
	}, parentCall(a)})
}

// contentOf returns the blocks of a message with the bytes that the model sent.
func contentOf(m model.Message) []json.RawMessage {
	var wire struct {
		Content []json.RawMessage `json:"content"`
	}
	if json.Unmarshal(m.Raw(), &wire) != nil {
		return nil // content that is one bare string is never a model's answer
	}
	return wire.Content
}

func onlyCalls(content []json.RawMessage) []json.RawMessage {
	var calls []json.RawMessage
	for _, raw := range content {
		var b struct {
			Type string `json:"type"`
		}
		if json.Unmarshal(raw, &b) == nil && b.Type == model.TypeToolUse {
			calls = append(calls, raw)
		}
	}
	return calls
}

type userLine struct {
	line
	Message apiMessage `json:"message"`
	Parent  *string    `json:"parent_tool_use_id"`
	Result  any        `json:"tool_use_result,omitempty"`
}

func (s *Writer) finished(a event.Agent, f event.CallFinished) {
	content := append([]byte{'['}, model.ToolResult(f.Call.ID, f.Text, f.IsError).AppendJSON(nil)...)
	u := userLine{
		line: s.head("user", ""), Parent: parentCall(a), Result: f.Text,
		Message: apiMessage{Role: "user", Content: append(content, ']')},
	}
	if len(f.Detail) > 0 {
		u.Result = f.Detail
	}
	s.write(u)
}

type deniedLine struct {
	line
	Tool       string `json:"tool_name"`
	ID         string `json:"tool_use_id"`
	Agent      string `json:"agent_id,omitempty"`
	ReasonType string `json:"decision_reason_type"`
	Message    string `json:"message"`
}

func (s *Writer) denied(a event.Agent, f event.Denied) {
	d := deniedLine{
		line: s.head("system", "permission_denied"), Tool: f.Call.Name, ID: f.Call.ID,
		ReasonType: "mode", Message: f.Reason,
	}
	switch f.Rule {
	case "":
	case autojudge.Rule:
		d.ReasonType = "classifier"
	default:
		d.ReasonType = "rule"
	}
	if a.ID != agent.LeadID {
		d.Agent = string(a.ID)
	}
	s.write(d)
}

type judgedLine struct {
	line
	Tool    string `json:"tool_name,omitempty"` // "" is the report of an agent
	ID      string `json:"tool_use_id,omitempty"`
	Agent   string `json:"agent_id,omitempty"`
	Model   string `json:"model"`
	Verdict string `json:"verdict"`
	Message string `json:"message"`
}

func (s *Writer) judged(a event.Agent, f event.Judged) {
	j := judgedLine{
		line: s.head("system", "permission_judged"), Tool: f.Call.Name, ID: f.Call.ID, Model: f.Model, Verdict: cmp.Or(f.Verdict, "none"), Message: f.Reason,
	}
	if a.ID != agent.LeadID {
		j.Agent = string(a.ID)
	}
	s.write(j)
}

type retryLine struct {
	line
	Attempt int    `json:"attempt"`
	Max     int    `json:"max_retries"`
	DelayMS int64  `json:"retry_delay_ms"`
	Status  *int   `json:"error_status"`
	Error   string `json:"error"`
}

func (s *Writer) retry(b model.Backoff) {
	r := retryLine{
		line: s.head("system", "api_retry"), Attempt: b.Attempt, Max: b.MaxAttempts,
		DelayMS: b.Delay.Milliseconds(), Error: b.Reason,
	}
	if b.Status != 0 {
		r.Status = &b.Status
	}
	s.write(r)
}

// Finish writes the result.
func (s *Writer) Finish(v view.RunResult) error {
	s.writeInit()
	s.write(s.tally.result(v))
	return s.err
}
