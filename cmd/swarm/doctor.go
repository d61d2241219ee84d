package main

import "github.com/spf13/cobra"

func newDoctor(a *app) *cobra.Command { return &cobra.Command{Use: "doctor"} }
