// Package swarm runs swarms of LLM agents: every agent is a supervised actor
// with its own abort scope, and what agents say to each other travels as typed
// messages over an embedded NATS server, recorded in one journal.
//
// A program opens a Session on a directory, lets the lead agent work on a
// prompt, and closes it:
//
//	s, err := swarm.Open(ctx, swarm.Options{Dir: "."})
//	if err != nil { … }
//	defer s.Close()
//	result, err := s.Run(ctx, "find the three largest functions")
//
// Everything a session knows is on disk before it is acted on. A session whose
// process died is opened again with Options.Session and goes on with Resume.
package swarm
