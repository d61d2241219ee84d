package api

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"testing"

	"github.com/actorswarm/swarm/tool/builtin"
)

// Only a process that can be read and bears no foreign mark is the user. What
// cannot be read may do what a command may, and no more.
func TestAnUnreadableProcessIsNotTheUser(t *testing.T) {
	own := []builtin.Mark{{Session: "outer", Agent: "lead"}}
	unreadable := errors.New("permission denied")
	a := newAuthorizer(t.Context(), "s")
	for name, c := range map[string]struct {
		marks, own []builtin.Mark
		err        error
		user       bool
		as         string
	}{
		"no mark":                                   {user: true},
		"the marks of this session itself":          {marks: own, own: own, user: true},
		"unreadable":                                {err: unreadable},
		"unreadable, with our own marks":            {marks: own, own: own, err: unreadable},
		"a command of this session":                 {marks: []builtin.Mark{{Session: "s", Agent: "bob"}}, as: "bob"},
		"a command without a name":                  {marks: []builtin.Mark{{Session: "s"}}, as: "a command"},
		"a command of another session":              {marks: []builtin.Mark{{Session: "other", Agent: "eve"}}, as: "eve"},
		"a command inside a command":                {marks: []builtin.Mark{own[0], {Session: "s", Agent: "bob"}}, own: own, as: "bob"},
		"it bears our session's mark, and so do we": {marks: []builtin.Mark{{Session: "s", Agent: "bob"}}, own: []builtin.Mark{{Session: "s"}}, as: "bob"},
	} {
		t.Run(name, func(t *testing.T) {
			u := a.authorize(c.marks, c.own, c.err)
			if c.user {
				if u != nil {
					t.Errorf("it may only %v", u.Publish)
				}
				return
			}
			if u == nil {
				t.Fatal("it is taken for the user")
			}
			if u.Name != c.as {
				t.Errorf("its name is %q, want %q", u.Name, c.as)
			}
			if !slices.Contains(u.Publish, Subject("s").To("ps")) {
				t.Errorf("it may publish %v, which lacks looking", u.Publish)
			}
			for _, verb := range []string{"answer", "kill", "say", "send", "bus-add", "team-down"} {
				if slices.Contains(u.Publish, Subject("s").To(verb)) {
					t.Errorf("it may %s", verb)
				}
			}
		})
	}
}

// A process that has ended between its connection and the look at it cannot be read.
func TestAProcessThatIsGoneIsNotTheUser(t *testing.T) {
	if runtime.GOOS != "linux" {
		t.Skip("only Linux shows the environment of a process")
	}
	authorize := Authorize(t.Context(), "s")
	if authorize(1<<30) == nil {
		t.Error("a process that does not exist is taken for the user")
	}
	if u := authorize(os.Getpid()); u != nil {
		t.Errorf("the session's own process may only %v", u.Publish)
	}
}
