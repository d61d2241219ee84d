package swarm

import (
	"os"
	"slices"

	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/tool/builtin"
)

// commandVerbs are what a command of an agent may ask of a session: to look, and
// to be a member. Everything else is the user's: a verb that is not here is closed
// to commands.
var commandVerbs = slices.Concat(outsideVerbs, []string{
	"ps", "tasks", "mailbox", "message", "questions", "bus", "hello", "tail", "untail", "team", "teams",
	"letter", // of another session, which a command may have started
})

// visitor says what a process that comes through the socket may do: nil is
// everything, which the user may. A command that an agent has started is of the
// same user and is not the user: it must not answer what its agent asks, nor speak
// in the user's name. Who it is is told by the marks that commands bear, and what
// cannot be looked at is taken for one.
func (s *Session) visitor(pid int) *natsd.User {
	marks, err := builtin.MarksOf(pid)
	own, _ := builtin.MarksOf(os.Getpid()) // a session may itself be the command of an agent of another
	at := slices.IndexFunc(marks, func(m builtin.Mark) bool {
		return m.Session == s.info.ID || !slices.ContainsFunc(own, func(o builtin.Mark) bool { return o.Session == m.Session })
	})
	if err == nil && at < 0 {
		return nil
	}
	u := &natsd.User{Subscribe: []string{eventSubject(s.info.ID)}}
	if at >= 0 {
		u.Name = first(marks[at].Agent, "a command")
	}
	for _, verb := range commandVerbs {
		u.Publish = append(u.Publish, apiSubject(s.info.ID, verb))
	}
	return u
}
