// Package mcpserve lets a program that speaks the Model Context Protocol be a
// member of a session: it writes, reads its mail, works on the shared tasks and
// asks the user by the tools send, inbox, tasks and ask.
//
// Laws:
//
//   - A message counts as read once the program has made its next call: what a
//     program was given that died before is given again to the next one
//     (TestMailCountsAsReadAtTheNextCall).
//   - No call waits longer than its wait_seconds, which are bounded: clients give up
//     on a call after a minute (TestWaitsAreBounded).
//
// It is the only package that imports the MCP module.
package mcpserve
