// Package team holds what a program sees of agents that work together: teams and
// how they are, messages and what became of each, other sessions on this machine,
// and the errors that a caller branches on.
//
//	sent, err := session.Send("ben", "review the change")
//	if team.IsUnknown(err) {
//		// the error names the agents that there are
//	}
//	status, err := session.Team(ctx, "") // the session's own team
//	for _, task := range status.Tasks {
//		fmt.Println(task.ID, task.Subject, task.Status)
//	}
//
// Task lists are in team/board, team files in team/teamfile. What carries messages
// and runs teams is internal/roster.
package team
