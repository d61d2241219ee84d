package tui

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

var (
	consent = Question{ID: "1", Consent: true, Always: "Bash(git push:*)"}
	which   = Question{ID: "2", Choices: []string{"Postgres", "SQLite"}}
)

func TestParse(t *testing.T) {
	views := []View{{Name: "ps"}}
	for _, c := range []struct {
		line string
		q    *Question
		want action
	}{
		{"  ", nil, nil},
		{" look at it\nplease ", nil, sendLead{"look at it\nplease"}},
		{"@bob  look here", nil, sendAgent{"bob", "look here"}},
		{"@ home", nil, sendLead{"@ home"}},
		{"/ps", nil, command{"ps", ""}},
		{"/stop @bob", nil, command{"stop", "bob"}},
		{"/etc/hosts is broken", nil, sendLead{"/etc/hosts is broken"}},
		{"/main.go is broken", nil, sendLead{"/main.go is broken"}},
		{"y", nil, sendLead{"y"}},
		{"y", &consent, answerQuestion{consent, Answer{Allow: true}}},
		{"Yes.", &consent, answerQuestion{consent, Answer{Allow: true}}},
		{"a", &consent, answerQuestion{consent, Answer{Allow: true, Always: true}}},
		{"a session", &consent, answerQuestion{consent, Answer{Allow: true, Always: true}}},
		{"always Local", &consent, answerQuestion{consent, Answer{Allow: true, Always: true, Scope: "local"}}},
		{"a user", &consent, answerQuestion{consent, Answer{Allow: true, Always: true, Scope: "user"}}},
		{"a file is missing", &consent, syntaxError{noAnswer(consent)}},
		{"maybe", &consent, syntaxError{noAnswer(consent)}},
		{"@lead a file is missing", &consent, sendAgent{"lead", "a file is missing"}},
		{"/pss", nil, syntaxError{"there is no command /pss; there are /compact, /detach, /help, /interrupt, /model, /ps, /quit, /stop; did you mean /ps?"}},
		{"a", &Question{Consent: true}, syntaxError{noAnswer(Question{Consent: true})}},
		{"no, not to main", &consent, answerQuestion{consent, Answer{Note: "not to main"}}},
		{"@bob y", &consent, sendAgent{"bob", "y"}},
		{"2", &which, answerQuestion{which, Answer{Allow: true, Picked: []string{"SQLite"}, Text: "2"}}},
		{"1, 2", &which, answerQuestion{which, Answer{Allow: true, Picked: []string{"Postgres", "SQLite"}, Text: "1, 2"}}},
		{"3", &which, answerQuestion{which, Answer{Allow: true, Text: "3"}}},
		{"neither", &which, answerQuestion{which, Answer{Allow: true, Text: "neither"}}},
	} {
		got := parse(c.line, c.q, views)
		if diff := cmp.Diff(c.want, got, cmp.AllowUnexported(sendLead{}, sendAgent{}, answerQuestion{}, command{}, syntaxError{})); diff != "" {
			t.Errorf("%q (-want +got):\n%s", c.line, diff)
		}
	}
}

// Law: only a line that means yes, and nothing else, is consent.
func TestOnlyYesAloneIsConsent(t *testing.T) {
	for _, line := range []string{"yes please look at the tests too", "yy", "ya", "always do this", "ok", "sure", "1", "y?", "allow"} {
		if s, ok := parse(line, &consent, nil).(answerQuestion); ok && s.answer.Allow {
			t.Errorf("%q was taken for a yes", line)
		}
	}
}

func TestSyntaxErrorsSayWhatToWrite(t *testing.T) {
	for line, want := range map[string]string{
		"@bob":     "@bob TEXT",
		"/stop":    "/stop NAME",
		"/agentss": "/agents",
	} {
		m, ok := parse(line, nil, []View{{Name: "agents"}}).(syntaxError)
		if !ok || !strings.Contains(m.text, want) {
			t.Errorf("%q: %+v", line, m)
		}
	}
}

func TestComplete(t *testing.T) {
	agents, commands := []string{"lead", "bob", "bobby", "Ann"}, []string{"model", "ps", "stop"}
	for _, c := range []struct{ line, want, offers string }{
		{"@l", "@lead ", ""},
		{"@b", "@bob", "bob bobby"},
		{"@a", "@Ann ", ""},
		{"@x", "@x", ""},
		{"@", "@", "lead bob bobby Ann"},
		{"/m", "/model ", ""},
		{"/stop b", "/stop bob", "bob bobby"},
		{"/stop @l", "/stop @lead ", ""},
		{"@bob he", "@bob he", ""},
		{"text", "text", ""},
		{"", "", ""},
	} {
		got, offers := complete(c.line, agents, commands)
		if got != c.want || strings.Join(offers, " ") != c.offers {
			t.Errorf("%q becomes %q with %q, want %q with %q", c.line, got, offers, c.want, c.offers)
		}
	}
}
