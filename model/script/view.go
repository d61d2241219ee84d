package script

import (
	"regexp"
	"strings"

	"github.com/actorswarm/swarm/model"
)

const idPrefix = "call_"

// callID returns the name of a call from its id.
var callID = regexp.MustCompile(`^` + idPrefix + `\d+_[0-9a-f]{8}_\d+_(.+)$`)

// The frames of mail in a conversation.
var (
	teammateFrame = regexp.MustCompile(`(?s)<teammate-message\s[^>]*?teammate_id="([^"]*)"[^>]*>\n?(.*?)\n?</teammate-message>`)
	reportFrame   = regexp.MustCompile(`(?s)<task-notification>.*?<task-id>([^<]*)</task-id>.*?<result>\n?(.*?)\n?</result>\n?</task-notification>`)
	userFrame     = regexp.MustCompile(`(?s)^\s*<user-message>\n?(.*?)\n?</user-message>\s*$`)
	reminderFrame = regexp.MustCompile(`(?s)<system-reminder>.*?</system-reminder>\s*`)
)

// view is the content of a conversation for rules and templates. The exported fields are
// for templates.
type view struct {
	Agent, Type string
	Step, Turn  int
	Prompt      string // the first text of the user
	Last        string // the newest text of the user

	caller  model.Caller
	mark    string // of this request
	results []result
	fresh   []result // results that no answer has seen
	mails   []message
	newMail []message
	newest  string // all content that no answer has seen
}

// result is the result of a tool.
type result struct {
	tool, as, text string
}

// message is a message of another agent.
type message struct {
	from, text string
}

func newView(r *model.Request) *view {
	v := &view{caller: r.Caller, Agent: r.Caller.Agent, Type: r.Caller.Type, Turn: r.Caller.Turn, mark: fingerprint(r)}
	tools := map[string]string{}
	var newest []string
	for _, m := range r.Messages {
		if m.Role() == model.RoleAssistant {
			v.Step++
			v.fresh, v.newMail, newest = nil, nil, nil
		}
		for _, b := range m.Blocks() {
			switch {
			case b.Type == model.TypeToolUse:
				tools[b.ID] = b.Name
			case b.Type == model.TypeToolResult:
				v.addResult(b, tools[b.ToolUseID])
				newest = append(newest, b.Content)
			case b.Type == model.TypeText && m.Role() == model.RoleUser:
				v.addText(b.Text)
				newest = append(newest, b.Text)
			}
		}
	}
	v.newest = strings.Join(newest, "\n")
	return v
}

func (v *view) addResult(b model.Block, tool string) {
	r := result{tool: tool, text: b.Content}
	if m := callID.FindStringSubmatch(b.ToolUseID); m != nil {
		r.as = m[1]
	}
	v.results = append(v.results, r)
	v.fresh = append(v.fresh, r)
}

// addText adds a text of the user, and the mail in it.
func (v *view) addText(text string) {
	for _, frame := range []*regexp.Regexp{teammateFrame, reportFrame} {
		for _, m := range frame.FindAllStringSubmatch(text, -1) {
			l := message{from: m[1], text: m[2]}
			if frame == reportFrame {
				l.text = strings.TrimPrefix(strings.ReplaceAll(l.text, "\n  ", "\n"), "  ")
			}
			v.mails = append(v.mails, l)
			v.newMail = append(v.newMail, l)
		}
		text = frame.ReplaceAllString(text, "")
	}
	if m := userFrame.FindStringSubmatch(text); m != nil {
		text = m[1]
	}
	text = strings.TrimSpace(reminderFrame.ReplaceAllString(text, ""))
	if text == "" {
		return
	}
	if v.Prompt == "" {
		v.Prompt = text
	}
	v.Last = text
}
