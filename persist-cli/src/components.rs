//! Strongly connected components of a graph.

use std::ops::Range;

/// The components of more than one node, or of one that leads to itself; the largest first.
pub(crate) fn cycles(outgoing: &[Range<usize>], targets: &[usize]) -> Vec<Vec<usize>> {
    let mut cycles = components(outgoing, targets);
    cycles
        .retain(|cycle| cycle.len() > 1 || targets[outgoing[cycle[0]].clone()].contains(&cycle[0]));
    cycles.sort_by_key(|cycle| (std::cmp::Reverse(cycle.len()), cycle[0]));
    cycles
}

/// The components of a graph, of any size, each with its nodes in order: of each node the range of its targets.
///
/// Tarjan's algorithm with a stack of its own: chains may be as long as a save.
pub(crate) fn components(outgoing: &[Range<usize>], targets: &[usize]) -> Vec<Vec<usize>> {
    const NEW: usize = usize::MAX;
    let (mut number, mut low) = (vec![NEW; outgoing.len()], vec![NEW; outgoing.len()]);
    let mut is_open = vec![false; outgoing.len()];
    let (mut open, mut calls, mut found) = (Vec::new(), Vec::new(), Vec::new());
    let mut next = 0;
    for start in 0..outgoing.len() {
        if number[start] != NEW {
            continue;
        }
        calls.push((start, outgoing[start].clone()));
        while let Some((node, rest)) = calls.last_mut() {
            let node = *node;
            if number[node] == NEW {
                (number[node], low[node]) = (next, next);
                next += 1;
                open.push(node);
                is_open[node] = true;
            }
            if let Some(edge) = rest.next() {
                let to = targets[edge];
                if number[to] == NEW {
                    calls.push((to, outgoing[to].clone()));
                } else if is_open[to] {
                    low[node] = low[node].min(number[to]);
                }
                continue;
            }
            calls.pop();
            if let Some((caller, _)) = calls.last() {
                low[*caller] = low[*caller].min(low[node]);
            }
            if low[node] == number[node] {
                let first = open.iter().rposition(|it| *it == node).unwrap_or_default();
                let mut component = open.split_off(first);
                for member in &component {
                    is_open[*member] = false;
                }
                component.sort_unstable();
                found.push(component);
            }
        }
    }
    found
}
