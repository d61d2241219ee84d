#include "textflag.h"

// func launch()
//
// The program of the launcher, which runs in an image of its own (see launcher_linux.go)
// and never in this process. It makes the system calls of the list at listAt one after
// another and then executes the program that the head names, with the arguments and the
// environment that it was itself given.
//
// R12 is where the stack starts, R13 the current step.
TEXT ·launch(SB), NOSPLIT|NOFRAME, $0-0
	MOVQ SP, R12
	MOVQ $0x10010040, R13

next:
	MOVQ 0(R13), AX
	CMPQ AX, $-1
	JEQ  run
	MOVQ 8(R13), DI
	MOVQ 16(R13), SI
	MOVQ 24(R13), DX
	MOVQ 32(R13), R10
	MOVQ 40(R13), R8
	MOVQ 48(R13), R9
	SYSCALL
	CMPQ AX, $0xfffffffffffff001
	JCC  failed
	MOVQ 56(R13), CX
	CMPQ CX, $0
	JEQ  step
	MOVQ AX, 0(CX)

step:
	ADDQ $88, R13
	JMP  next

failed:
	CMPQ AX, 64(R13)
	JEQ  step

report:
	MOVQ AX, 80(R13)
	MOVQ $0x10010000, CX
	MOVQ 0(CX), DI
	MOVQ R13, SI
	MOVQ $88, DX
	MOVQ $1, AX          // write
	SYSCALL
	MOVQ $127, DI
	MOVQ $231, AX        // exit_group
	SYSCALL

run:
	MOVQ $0x10010000, CX
	MOVQ 8(CX), DI
	LEAQ 8(R12), SI
	MOVQ 0(R12), CX
	LEAQ 16(R12)(CX*8), DX
	MOVQ $59, AX         // execve
	SYSCALL
	JMP  report
	LONG $0x6d726177     // the end, for launchCode

// func launchAddress() *byte
TEXT ·launchAddress(SB), NOSPLIT, $0-8
	LEAQ ·launch(SB), AX
	MOVQ AX, ret+0(FP)
	RET
