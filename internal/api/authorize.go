package api

import (
	"cmp"
	"context"
	"errors"
	"os"
	"slices"

	"github.com/actorswarm/swarm/internal/member"
	"github.com/actorswarm/swarm/internal/natsd"
	"github.com/actorswarm/swarm/internal/rpc"
	"github.com/actorswarm/swarm/internal/sandbox"
	"github.com/actorswarm/swarm/tool/builtin"
)

// Authorize returns what decides about processes that connect to the socket of a
// session: what each may do, where nil is everything, which the user may.
func Authorize(ctx context.Context, session string) func(pid int) *natsd.User {
	a := newAuthorizer(ctx, session)
	return func(pid int) *natsd.User {
		marks, err := builtin.MarksOf(pid)
		own, _ := builtin.MarksOf(os.Getpid()) // a session may itself be the command of an agent of another
		confined, unread := sandbox.Marked(pid)
		if confined {
			// It runs below a command of some agent, whatever it has shed.
			marks = append(marks, builtin.Mark{Session: session})
		}
		return a.authorize(marks, own, errors.Join(err, unread))
	}
}

type authorizer struct {
	session string
	publish []string // where commands of agents may publish
}

func newAuthorizer(ctx context.Context, session string) authorizer {
	a := authorizer{session: session}
	for _, method := range newServer(ctx, Parts{Members: new(member.Service)}, Options{}).Methods(rpc.Observe, rpc.Participate) {
		a.publish = append(a.publish, Subject(session).To(method))
	}
	return a
}

// authorize decides by the marks that a process bears. A command that an agent has
// started is of the same user and is not the user: it must not answer what its
// agent asks, nor speak in the user's name. It fails closed: a process that cannot
// be read, as err reports, is taken for such a command.
func (a authorizer) authorize(marks, own []builtin.Mark, err error) *natsd.User {
	at := slices.IndexFunc(marks, func(m builtin.Mark) bool {
		return m.Session == a.session || !slices.ContainsFunc(own, func(o builtin.Mark) bool { return o.Session == m.Session })
	})
	if err == nil && at < 0 {
		return nil
	}
	u := &natsd.User{Publish: a.publish}
	if at >= 0 {
		u.Name = cmp.Or(marks[at].Agent, "a command")
	}
	return u
}
