//! [`Request`], a call that runs on the thread of its `Cloud`.

use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll, Wake, Waker};
use std::thread::{self, Thread};

use persist::{Error, ErrorKind, Result};
use tokio::task::JoinHandle;

/// A running call to a service. Await it, or block with [`wait`](Self::wait).
///
/// The call starts at once, on a thread of its [`Cloud`](crate::Cloud), so that any executor can await it. Dropping a
/// request that is not done cancels it. A cancelled write may have happened nevertheless.
#[derive(Debug)]
#[must_use = "a request that is dropped is cancelled"]
pub struct Request<T>(State<T>);

#[derive(Debug)]
enum State<T> {
    Running(JoinHandle<Result<T>>),
    /// The call was refused before anything was sent; `None` after the error was returned.
    Refused(Option<Error>),
}

impl<T> Request<T> {
    pub(crate) fn running(task: JoinHandle<Result<T>>) -> Self {
        Self(State::Running(task))
    }

    pub(crate) fn refused(error: Error) -> Self {
        Self(State::Refused(Some(error)))
    }

    /// Blocks this thread until the request is done.
    ///
    /// # Errors
    ///
    /// Returns the errors of the call that created the request, and [`ErrorKind::Cancelled`] if it was awaited already.
    pub fn wait(self) -> Result<T> {
        let mut request = pin!(self);
        let waker = Waker::from(Arc::new(Parked(thread::current())));
        loop {
            match request.as_mut().poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(result) => return result,
                Poll::Pending => thread::park(),
            }
        }
    }
}

/// A waker that unparks a thread in [`Request::wait`].
struct Parked(Thread);

impl Wake for Parked {
    fn wake(self: Arc<Self>) {
        self.0.unpark();
    }
}

impl<T> Unpin for Request<T> {}

impl<T> Future for Request<T> {
    type Output = Result<T>;

    fn poll(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<T>> {
        match &mut self.0 {
            State::Running(task) => Pin::new(task).poll(context).map(|joined| {
                joined.unwrap_or_else(|error| {
                    let what = format!("the request did not end, {error}; try again");
                    let is_cancelled = error.is_cancelled();
                    Err(Error::new(
                        if is_cancelled { ErrorKind::Cancelled } else { ErrorKind::Io },
                        what,
                    ))
                })
            }),
            State::Refused(error) => Poll::Ready(Err(error.take().unwrap_or_else(|| {
                Error::new(
                    ErrorKind::Cancelled,
                    "the request has been awaited already; make another",
                )
            }))),
        }
    }
}

impl<T> Drop for Request<T> {
    fn drop(&mut self) {
        if let State::Running(task) = &self.0 {
            task.abort();
        }
    }
}
