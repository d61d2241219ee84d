#include "textflag.h"

// func launch()
//
// The program of the launcher; see launch_linux_amd64.s.
//
// R19 is where the stack starts, R20 the current step, R21 the head of the list.
TEXT ·launch(SB), NOSPLIT|NOFRAME, $0-0
	MOVD RSP, R19
	MOVD $0x10010000, R21
	ADD  $0x40, R21, R20

next:
	MOVD 0(R20), R8
	CMN  $1, R8
	BEQ  run
	MOVD 8(R20), R0
	MOVD 16(R20), R1
	MOVD 24(R20), R2
	MOVD 32(R20), R3
	MOVD 40(R20), R4
	MOVD 48(R20), R5
	SVC
	CMN  $4095, R0
	BCS  failed
	MOVD 56(R20), R9
	CBZ  R9, step
	MOVD R0, 0(R9)

step:
	ADD $88, R20, R20
	B   next

failed:
	MOVD 64(R20), R9
	CMP  R9, R0
	BEQ  step

report:
	MOVD R0, 80(R20)
	MOVD 0(R21), R0
	MOVD R20, R1
	MOVD $88, R2
	MOVD $64, R8      // write
	SVC
	MOVD $127, R0
	MOVD $94, R8      // exit_group
	SVC

run:
	MOVD 8(R21), R0
	ADD  $8, R19, R1
	MOVD 0(R19), R2
	ADD  R2<<3, R1, R2
	ADD  $8, R2, R2
	MOVD $221, R8     // execve
	SVC
	B    report
	WORD $0x6d726177  // the end, for launchCode

// func launchAddress() *byte
TEXT ·launchAddress(SB), NOSPLIT, $0-8
	MOVD $·launch(SB), R0
	MOVD R0, ret+0(FP)
	RET
