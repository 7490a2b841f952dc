//! Strongly connected components and cycles of a directed graph, by Tarjan's algorithm.

/// The edges of a graph, grouped by the node that they leave.
pub(crate) struct Edges {
    /// Index in `targets` of the first edge of each node, then the number of edges.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Edges {
    /// Makes an empty list of edges for a graph of `nodes` nodes. Call [`push`](Self::push) once for each node, in
    /// order.
    pub(crate) fn new(nodes: usize) -> Self {
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0);
        Self { starts, targets: Vec::new() }
    }

    /// Adds the next node, with the nodes that it points to.
    pub(crate) fn push(&mut self, targets: impl IntoIterator<Item = u32>) {
        self.targets.extend(targets);
        self.starts.push(self.targets.len());
    }

    /// Returns the nodes that `node` points to.
    fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// Returns the strongly connected components, by Tarjan's algorithm (<https://doi.org/10.1137/0201010>). It has an
    /// explicit stack: a graph may be a chain of a million objects, and recursion would overflow the thread's stack.
    pub(crate) fn components(&self) -> Components {
        let nodes = self.starts.len() - 1;
        let mut found =
            Components { of: vec![NONE; nodes], order: Vec::with_capacity(nodes), count: 0 };
        // `number` is the order in which nodes were visited, from 1. `lowest` is the first open node that each leads
        // back to.
        let (mut visited, mut number, mut lowest) = (0_u32, vec![0; nodes], vec![0; nodes]);
        // Tarjan's stack: the visited nodes whose component is not known yet.
        let mut open = Vec::new();
        // The nodes on the path from the root, and the next edge of each.
        let mut path: Vec<(u32, usize)> = Vec::new();
        for root in (0..NONE).take(nodes) {
            if number[root as usize] == 0 {
                path.push((root, 0));
            }
            while let Some((node, next)) = path.last_mut() {
                let (node, at) = (*node, *node as usize);
                if number[at] == 0 {
                    visited += 1;
                    (number[at], lowest[at]) = (visited, visited);
                    open.push(node);
                }
                if let Some(target) = self.of(node).get(*next) {
                    *next += 1;
                    if number[*target as usize] == 0 {
                        path.push((*target, 0));
                    } else if found.of[*target as usize] == NONE {
                        lowest[at] = lowest[at].min(number[*target as usize]);
                    }
                    continue;
                }
                path.pop();
                if let Some((outer, _)) = path.last() {
                    lowest[*outer as usize] = lowest[*outer as usize].min(lowest[at]);
                }
                if lowest[at] == number[at] {
                    // This node was visited first of its component, so all nodes above it on the stack are in the
                    // component.
                    while let Some(last) = open.pop() {
                        found.of[last as usize] = found.count;
                        found.order.push(last);
                        if last == node {
                            break;
                        }
                    }
                    found.count += 1;
                }
            }
        }
        found
    }
}

const NONE: u32 = u32::MAX;

/// The strongly connected components of a graph.
pub(crate) struct Components {
    /// Number of the component of each node.
    pub of: Vec<u32>,
    /// All nodes, grouped by component. A component comes after every other one that its nodes point to.
    pub order: Vec<u32>,
    count: u32,
}

impl Components {
    /// Returns the components that contain a cycle: those of several nodes, and single nodes that point to themselves.
    pub(crate) fn cycles(&self, edges: &Edges) -> Vec<Vec<u32>> {
        let same = |a: &u32, b: &u32| self.of[*a as usize] == self.of[*b as usize];
        let is_cycle = |nodes: &&[u32]| nodes.len() > 1 || edges.of(nodes[0]).contains(&nodes[0]);
        self.order.chunk_by(same).filter(is_cycle).map(<[u32]>::to_vec).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Small graphs, all of them for three nodes and many for seven.
    fn graphs() -> impl Iterator<Item = Vec<Vec<u32>>> {
        let of = |nodes: u32, bits: u64| {
            let targets = move |from: u32| {
                (0..nodes).filter(move |to| bits >> (from * nodes + to) & 1 == 1).collect()
            };
            (0..nodes).map(targets).collect()
        };
        let spread = |i: u64| i.wrapping_mul(0x9e37_79b9_7f4a_7c15).rotate_left(23);
        let thin = move |i: u64| spread(i) & spread(i + 1) & spread(i + 2);
        (0..512).map(move |bits| of(3, bits)).chain((1..3000).map(move |i| of(7, thin(i))))
    }

    #[test]
    fn components_are_those_that_lead_to_each_other() {
        for graph in graphs() {
            let mut edges = Edges::new(graph.len());
            graph.iter().for_each(|targets| edges.push(targets.iter().copied()));
            let found = edges.components();
            // Compute reachability with Warshall's algorithm, which is slow and simple.
            let nodes = 0..graph.len();
            let mut reach: Vec<Vec<bool>> = vec![vec![false; graph.len()]; graph.len()];
            let all = graph.iter().enumerate();
            all.for_each(|(from, to)| to.iter().for_each(|to| reach[from][*to as usize] = true));
            for via in nodes.clone() {
                for (from, to) in pairs(graph.len()) {
                    reach[from][to] |= reach[from][via] && reach[via][to];
                }
            }
            let place = |node: usize| found.order.iter().position(|n| *n as usize == node);
            for (from, to) in pairs(graph.len()) {
                let together = from == to || reach[from][to] && reach[to][from];
                assert_eq!(found.of[from] == found.of[to], together, "{graph:?}");
                assert!(together || !reach[from][to] || place(to) < place(from), "{graph:?}");
            }
            let in_cycles: usize = found.cycles(&edges).iter().map(Vec::len).sum();
            assert_eq!(in_cycles, nodes.filter(|node| reach[*node][*node]).count());
        }
    }

    fn pairs(nodes: usize) -> impl Iterator<Item = (usize, usize)> {
        (0..nodes).flat_map(move |from| (0..nodes).map(move |to| (from, to)))
    }
}
