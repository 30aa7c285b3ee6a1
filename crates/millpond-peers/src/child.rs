//! Peers that are separate programs, and the protocol with them: a line asks, a line answers.
//!
//! 1. The question follows SIGCONT, and SIGSTOP follows the answer. So a program does not run while
//!    others are measured, however its threads wait.
//! 2. The program is lost if an answer is late, the pipe is broken, or its output ends. Then it is
//!    killed, and the next question starts another.
//! 3. A program ends at the end of its input. A stopped program would miss the end of this process.
//!    So at its start each program asks the kernel to be killed with its parent (`cpp/serve.hpp`,
//!    `src/runtimes/ceiling.rs`).

use rustix::process::{Pid, Signal, kill_process};
use std::io::{BufRead, BufReader, Write};
use std::process::{ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, RecvTimeoutError, channel};
use std::time::Duration;

/// A running program.
pub struct Child {
    process: std::process::Child,
    questions: ChildStdin,
    answers: Receiver<String>,
    limit: Duration,
}

impl Child {
    /// Starts a program with the time limit `limit` for an answer.
    pub fn start(mut command: Command, limit: Duration) -> Result<Self, String> {
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut process = command.spawn().map_err(|error| format!("does not start: {error}"))?;
        let (Some(questions), Some(out)) = (process.stdin.take(), process.stdout.take()) else {
            unreachable!("both are pipes");
        };
        let (sender, answers) = channel();
        // Ends with the program's output. The thread sleeps while the program works.
        std::thread::spawn(move || {
            let lines = BufReader::new(out).lines();
            lines.map_while(Result::ok).try_for_each(|line| sender.send(line))
        });
        Ok(Self { process, questions, answers, limit })
    }

    /// Asks, and waits for the answer. After an error the program is unusable.
    pub fn ask(&mut self, question: &str) -> Result<String, String> {
        self.send(question)?;
        self.receive()
    }

    /// Asks without waiting, so that several programs can be asked together. [`Child::receive`]
    /// follows.
    pub fn send(&mut self, question: &str) -> Result<(), String> {
        self.signal(Signal::CONT);
        if writeln!(self.questions, "{question}").is_err() {
            return Err(self.death());
        }
        Ok(())
    }

    /// Waits for a line of the program. After an error the program is unusable.
    pub fn receive(&mut self) -> Result<String, String> {
        match self.answers.recv_timeout(self.limit) {
            Ok(answer) => {
                self.signal(Signal::STOP);
                Ok(answer)
            }
            Err(RecvTimeoutError::Timeout) => Err(format!("no answer within {:?}", self.limit)),
            Err(RecvTimeoutError::Disconnected) => Err(self.death()),
        }
    }

    fn signal(&self, signal: Signal) {
        // If the program has died, it gets no signal, and the next read or write fails.
        let _ = kill_process(Pid::from_child(&self.process), signal);
    }

    /// How the program ended.
    fn death(&mut self) -> String {
        // It may have closed only its output.
        let _ = self.process.kill();
        self.process.wait().map_or_else(|error| error.to_string(), |status| format!("died ({status})"))
    }
}

impl Drop for Child {
    fn drop(&mut self) {
        // Kills the program even if it is stopped. Waiting leaves no zombie.
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str, limit: Duration) -> Child {
        let mut command = Command::new("sh");
        command.args(["-c", script]);
        Child::start(command, limit).expect("there is a shell")
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn questions_are_answered_in_turn() {
        let mut echo = shell("while read line; do echo \"so $line\"; done", LONG);
        for question in ["a", "b", "c"] {
            assert_eq!(echo.ask(question), Ok(format!("so {question}")));
        }
    }

    #[test]
    fn a_death_is_an_error_that_says_how() {
        let exits = shell("read line; exit 3", LONG).ask("a").unwrap_err();
        assert_eq!(exits, "died (exit status: 3)");
        let killed = shell("read line; kill -SEGV $$", LONG).ask("a").unwrap_err();
        assert!(killed.starts_with("died (signal: 11"), "{killed}");
        let mut gone = shell("read line; echo fine; exit 0", LONG);
        assert_eq!(gone.ask("a"), Ok("fine".to_owned()));
        assert_eq!(gone.ask("b"), Err("died (exit status: 0)".to_owned()));
    }

    #[test]
    fn a_hang_is_an_error() {
        let hang = shell("read line; sleep 1000", Duration::from_millis(50)).ask("a").unwrap_err();
        assert_eq!(hang, "no answer within 50ms");
    }

    #[test]
    fn what_is_not_there_does_not_start() {
        assert!(Child::start(Command::new("/nowhere/at/all"), LONG).is_err());
    }
}
