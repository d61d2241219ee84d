package review

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/actorswarm/swarm/model"
	scripted "github.com/actorswarm/swarm/model/script"
	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"
)

// incoming is a message to the agent under test. It cannot come before the agent
// itself has written to the one named in after.
type incoming struct{ from, text, after string }

// parts are the messages to each agent and the tools that it then uses.
var parts = map[string]struct {
	messages []incoming
	tools    string
}{
	"surveyor": {
		tools: "Bash Bash Bash Bash Grep SendMessage Read SendMessage",
		messages: []incoming{
			{from: "team-lead", text: "START\nYou are all there."},
			{from: "docs", text: "I have read, and wait for surveyor."},
		},
	},
	"security": {
		tools: "Grep Grep Grep SendMessage Read SendMessage",
		messages: []incoming{
			{from: "team-lead", text: "START\nYou are all there."},
			{from: "surveyor", text: "HOT\n- a/big.go\n- b.go\n"},
			{from: "tests", text: "UNTESTED\n- a/big.go\nThat is all.", after: "tests"},
		},
	},
	"tests": {
		tools: "Bash Bash Grep Glob SendMessage SendMessage",
		messages: []incoming{
			{from: "team-lead", text: "START\nYou are all there."},
			{from: "surveyor", text: "HOT\n- a/big.go\n- b.go\n"},
			{from: "security", text: "RISKY\n- x/run.go\n"},
		},
	},
	"docs": {
		tools: "Glob Grep Read Bash Bash SendMessage",
		messages: []incoming{
			{from: "team-lead", text: "START\nYou are all there."},
			{from: "surveyor", text: "HOT\n- a/big.go\n- b.go\n"},
		},
	},
	"team-lead": {
		tools: "Bash Bash Bash Bash Glob Agent Agent Agent Agent SendMessage Write TaskStop TaskStop TaskStop TaskStop",
		messages: []incoming{
			{from: "docs", text: "I have read, and wait for surveyor.", after: "*"},
			{from: "surveyor", text: "HOT\n- a/big.go\n- b.go\n", after: "*"},
			{from: "surveyor", text: "FINDINGS\n## Map\n", after: "*"},
			{from: "security", text: "FINDINGS\nFIRST look\n## Security\n", after: "*"},
			{from: "tests", text: "FINDINGS\n## Tests\n", after: "*"},
			{from: "docs", text: "FINDINGS\n## Documentation\n", after: "*"},
		},
	},
}

// TestAnyOrderOfArrivalGivesTheSameCalls delivers the messages of each agent in
// any order that their senders allow, and at any step.
func TestAnyOrderOfArrivalGivesTheSameCalls(t *testing.T) {
	t.Parallel()
	s, err := scripted.Load(Script())
	if err != nil {
		t.Fatal(err)
	}
	for agent, part := range parts {
		t.Run(agent, func(t *testing.T) {
			t.Parallel()
			atOnce := &actor{tb: t, pick: func(int) int { return 0 }, more: func() int { return len(part.messages) }}
			want := atOnce.play(t.Context(), s, agent, part.messages)
			if d := cmp.Diff(part.tools, strings.Join(atOnce.tools, " ")); d != "" {
				t.Fatalf("the tools differ (-want +got):\n%s", d)
			}
			rapid.Check(t, func(r *rapid.T) {
				anyhow := &actor{
					tb:   r,
					pick: func(n int) int { return rapid.IntRange(0, n-1).Draw(r, "which incoming") },
					more: func() int { return rapid.IntRange(0, 2).Draw(r, "messages now") },
				}
				if d := cmp.Diff(want, anyhow.play(r.Context(), s, agent, part.messages)); d != "" {
					r.Fatalf("the calls differ (-all messages at once +this order):\n%s", d)
				}
			})
		})
	}
}

// actor plays an agent's part without the others: it answers the calls and
// delivers the messages.
type actor struct {
	tb   rapid.TB
	pick func(n int) int // which of n messages comes next
	more func() int      // how many messages come before the next request

	coming []incoming
	tools  []string
	wrote  map[string]bool // names the agent has written to
}

// play returns the calls of the agent until it has all messages.
func (a *actor) play(ctx context.Context, s *scripted.Script, agent string, messages []incoming) (calls []string) {
	a.coming, a.wrote = slices.Clone(messages), map[string]bool{}
	r := &model.Request{Caller: model.Caller{Agent: agent, AgentID: agent}}
	news := append([]model.Block{model.Text("Do your part.")}, a.deliver(a.more())...)
	for range 50 {
		r.Messages = append(r.Messages, model.UserMessage(news...))
		answer, err := model.Complete(ctx, s, r)
		if err != nil {
			a.tb.Fatalf("%v", err)
		}
		r.Messages = append(r.Messages, answer.Message)
		news = nil
		for _, c := range answer.Calls() {
			calls = append(calls, c.Name+" "+string(c.Input))
			news = append(news, model.ToolResult(c.ID, a.result(c), false))
		}
		if news != nil {
			news = append(news, a.deliver(a.more())...)
			continue
		}
		if len(a.coming) == 0 {
			return calls
		}
		if news = a.deliver(max(1, a.more())); news == nil {
			a.tb.Fatalf("%s has ended its turn %q before it wrote what %v answers", agent, answer.Text(), a.coming)
		}
	}
	a.tb.Fatalf("%s finds no end; its calls: %q", agent, calls)
	return nil
}

// deliver takes up to n messages. Those of one sender stay in order.
func (a *actor) deliver(n int) (blocks []model.Block) {
	for range n {
		var open []int
		seen := map[string]bool{}
		for i, l := range a.coming {
			if !seen[l.from] && (l.after == "" || a.wrote[l.after]) {
				open = append(open, i)
			}
			seen[l.from] = true
		}
		if open == nil {
			break
		}
		i := open[a.pick(len(open))]
		l := a.coming[i]
		a.coming = slices.Delete(a.coming, i, i+1)
		blocks = append(blocks, model.Text(`<teammate-message teammate_id="`+l.from+`" summary="s">`+"\n"+l.text+"\n</teammate-message>"))
	}
	return blocks
}

// result answers a call as in a small repository.
func (a *actor) result(c model.Call) string {
	a.tools = append(a.tools, c.Name)
	var in struct{ To, Description, Pattern string }
	if err := json.Unmarshal(c.Input, &in); err != nil {
		a.tb.Fatalf("%s %s: %v", c.Name, c.Input, err)
	}
	switch c.Name {
	case "SendMessage":
		a.wrote[in.To] = true
		return "queued"
	case "Write":
		return "Created swarm-review.md: 9 lines."
	case "Read":
		return "     1\tpackage a"
	case "Grep":
		return "x/run.go:7:\texec.Command(name)"
	case "Glob":
		return map[string]string{Report: "No files match.", "[Rr][Ee][Aa][Dd][Mm][Ee]*": "README.md"}[in.Pattern]
	case "Bash":
		if in.Description == "largest sources" {
			return "a/big.go:90\nb.go:30"
		}
		return "3"
	}
	return "done"
}
