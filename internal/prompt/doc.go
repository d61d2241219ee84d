// Package prompt writes the system prompt of an agent, in named steps.
//
// Laws:
//
//   - Steps come in one order: who the agent is (body, or the default prompt),
//     memory, plugin, role, environment, instructions, git, reminder. A step
//     without text is left out (TestStepsComeInOrder).
//   - The same Input gives the same bytes (TestBuildIsDeterministic).
//   - What is read from disk or from git is read at most once per Sources,
//     however many agents ask (TestSourcesReadOnce).
//   - Instruction files come from the broadest to the most specific. Imports
//     are followed four hops, never twice into themselves, and those of a
//     project never leave it (TestInstructionsOrder, TestImports).
//   - Whatever cannot be read leaves a gap and a note, never an error: an agent
//     starts without it (TestInstructionsBadFiles).
//
// Not promised: that a file changed during the session shows. Build is pure;
// Sources may be used from any goroutine.
package prompt
