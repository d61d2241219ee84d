// Package mcpconfig says which MCP servers a session has: those that the system, the
// command line, the user and the directory configure.
//
//	o := mcpconfig.Options{Sources: sources, StateDir: state, Getenv: os.Getenv, Trusts: store.Trusts}
//	servers, notes := mcpconfig.Read(o)
//	err := mcpconfig.Add(o, mcpconfig.User, server) // what: swarm mcp add writes
//
// The places, the strongest first: managed-mcp.json of the system, which excludes all
// others; --mcp-config; the user's own servers for one directory; .mcp.json of the directory
// and of those above it in its repository; the user's own servers. The user's own are in
// mcp.json of the state directory, and in ~/.claude.json. Of several servers with one name
// the strongest is taken whole.
//
// Laws:
//
//   - A server of a directory is started only while the user trusts the file as it is;
//     else a note names it (TestServersOfADirectoryNeedTrust).
//   - A stronger place wins, managed servers exclude others, and so do those of the command
//     line if it says so (TestTheStrongestPlaceWins).
//   - What any settings file denies is not started, and each list of what is allowed
//     restricts, whoever wrote it (TestSettingsOnlyRestrictServers).
//   - A mistake costs the server or file that it is in, and is a note (TestAMistakeIsANote).
//   - No text of a directory gets a key of swarm (TestADirectoryGetsNoKey).
//   - Add and Remove keep what else is in the file (TestAddAndRemoveKeepTheRest).
package mcpconfig
