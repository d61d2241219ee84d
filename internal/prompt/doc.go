// Package prompt builds the system prompt of an agent from named steps: its
// definition, the CLAUDE.md files, the state of the repository and notes on its role.
//
//	sources := prompt.NewSources(prompt.Options{Cwd: cwd, Home: home})
//	sources.Start(ctx) // reads git and files in the background
//	defer sources.Stop()
//	in := sources.Fill(prompt.Input{Definition: def, Role: role})
//	system := prompt.Blocks(prompt.Build(in))
//
// Laws:
//
//   - Steps come in one order: the agent's own text (body, or the default prompt),
//     memory, plugin, role, environment, instructions, git, reminder. A step
//     without text is left out (TestStepsComeInOrder).
//   - The same Input gives the same bytes (TestBuildIsDeterministic).
//   - Files and the state of git are read at most once per Sources, however many
//     agents use it (TestSourcesReadOnce).
//   - Instruction files come from the broadest to the most specific. Imports
//     are followed four levels deep, never in a cycle, and those of a
//     project never leave it (TestInstructionsOrder, TestImports).
//   - What cannot be read is left out and noted, never an error: the agent
//     starts without it (TestInstructionsBadFiles).
//
// Not promised: that a prompt shows a file as changed during the session. Build is
// pure; Sources may be used from any goroutine.
package prompt
