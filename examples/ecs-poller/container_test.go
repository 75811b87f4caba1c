package main

import (
	"crypto/rand"
	"os/exec"
	"strings"
	"syscall"
)

// graceOfStop is what `docker stop` leaves between SIGTERM and SIGKILL, as
// stopTimeout does on ECS: its default, and 5 s more than the longest ORDERS_GRACE
// of the tests.
const graceOfStop = "30"

// runContainer makes the command that runs the image, on the network of this
// machine, where the servers of the tests are. The command stays until the
// container has ended, and has its output and exit code.
func (p *program) runContainer(image string) {
	p.container = "ackwise-" + strings.ToLower(rand.Text())
	args := []string{"run", "--name", p.container, "--network", "host"}
	for _, e := range p.env {
		args = append(args, "--env", e)
	}
	p.cmd = exec.Command("docker", append(args, image)...)
	// An interrupt at the terminal is the test's, whose end removes the container.
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
}

// signalContainer stops it as ECS does, or sends it one more SIGTERM, and does not
// wait for the end.
func (p *program) signalContainer() {
	args := []string{"stop", "--time", graceOfStop, p.container}
	if p.signals > 1 {
		args = []string{"kill", "--signal", "TERM", p.container}
	}
	p.aside.Go(func() {
		if out, err := exec.Command("docker", args...).CombinedOutput(); err != nil {
			p.t.Errorf("docker %s: %v\n%s", args[0], err, out)
		}
	})
}

func (p *program) removeContainer() {
	if out, err := exec.Command("docker", "rm", "--force", p.container).CombinedOutput(); err != nil {
		p.t.Logf("docker rm: %v\n%s", err, out)
	}
}
