package swarm

import (
	"os"
	"slices"

	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/tool/builtin"
)

// visitor returns what a process that connects to the socket may do; nil is
// everything, which the user may.
func (s *Session) visitor(pid int) *natsd.User {
	marks, err := builtin.MarksOf(pid)
	own, _ := builtin.MarksOf(os.Getpid()) // a session may itself be the command of an agent of another
	return authorize(s.Info().ID, marks, own, err)
}

// authorize decides by the marks that a process bears. A command that an agent has
// started is of the same user and is not the user: it must not answer what its
// agent asks, nor speak in the user's name. It fails closed: a process that cannot
// be read, which is what err says, is taken for such a command.
func authorize(session string, marks, own []builtin.Mark, err error) *natsd.User {
	at := slices.IndexFunc(marks, func(m builtin.Mark) bool {
		return m.Session == session || !slices.ContainsFunc(own, func(o builtin.Mark) bool { return o.Session == m.Session })
	})
	if err == nil && at < 0 {
		return nil
	}
	u := &natsd.User{Subscribe: []string{eventSubject(session)}}
	if at >= 0 {
		u.Name = first(marks[at].Agent, "a command")
	}
	for _, method := range newAPI(&Session{members: new(member.Service)}).Methods(rpc.Observe, rpc.Participate) {
		u.Publish = append(u.Publish, apiSubject(session).To(method))
	}
	return u
}
