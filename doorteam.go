package swarm

import (
	"context"
	"errors"
	"time"

	"github.com/actorswarm/swarm/team"
)

// teamWithin is how long a change of a team may take: members come to life, or
// end, which each may take its time for.
const teamWithin = time.Minute

var errNoTeam = errors.New("the request names no team or member to make")

// doTeam answers the requests about teams; verb is what follows "team".
func (d *door) doTeam(ctx context.Context, verb string, in request) (reply, error) {
	status := func(t team.Status, err error) (reply, error) { return reply{Team: &t}, err }
	switch verb {
	case "s":
		return reply{Teams: d.s.Teams()}, nil
	case "":
		return status(d.s.Team(ctx, in.Name))
	case "-up":
		if in.Team == nil {
			return reply{}, errNoTeam
		}
		return status(d.s.TeamUp(ctx, *in.Team))
	case "-add":
		if in.Member == nil {
			return reply{}, errNoTeam
		}
		return status(d.s.TeamAdd(ctx, in.Name, *in.Member))
	case "-remove":
		return reply{}, d.s.TeamRemove(ctx, in.Name, in.To)
	case "-down":
		return reply{}, d.s.TeamDown(ctx, in.Name)
	}
	return reply{}, errors.New("there is no request team" + verb)
}

// Teams is Session.Teams.
func (r *Remote) Teams(ctx context.Context) ([]team.Team, error) {
	out, err := r.ask(ctx, "teams", request{})
	return out.Teams, err
}

// Team is Session.Team.
func (r *Remote) Team(ctx context.Context, name string) (team.Status, error) {
	return r.askTeam(ctx, "team", request{Name: name})
}

// TeamUp is Session.TeamUp.
func (r *Remote) TeamUp(ctx context.Context, f TeamFile) (team.Status, error) {
	return r.askTeam(ctx, "team-up", request{Team: &f})
}

// TeamAdd is Session.TeamAdd.
func (r *Remote) TeamAdd(ctx context.Context, name string, m TeamMember) (team.Status, error) {
	return r.askTeam(ctx, "team-add", request{Name: name, Member: &m})
}

// TeamRemove is Session.TeamRemove.
func (r *Remote) TeamRemove(ctx context.Context, name, member string) error {
	_, err := r.ask(ctx, "team-remove", request{Name: name, To: member})
	return err
}

// TeamDown is Session.TeamDown.
func (r *Remote) TeamDown(ctx context.Context, name string) error {
	_, err := r.ask(ctx, "team-down", request{Name: name})
	return err
}

func (r *Remote) askTeam(ctx context.Context, verb string, in request) (team.Status, error) {
	out, err := r.ask(ctx, verb, in)
	if err != nil || out.Team == nil {
		return team.Status{}, err
	}
	return *out.Team, nil
}
