//! Cycles in a graph.

/// Edges by the node that they leave.
pub(crate) struct Edges {
    /// First edge of each node, and the end.
    starts: Vec<usize>,
    targets: Vec<u32>,
}

impl Edges {
    /// For a graph of `nodes` nodes, none entered yet.
    pub(crate) fn new(nodes: usize) -> Self {
        let mut starts = Vec::with_capacity(nodes + 1);
        starts.push(0);
        Self { starts, targets: Vec::new() }
    }

    /// Enters the next node, with the nodes that it leads to.
    pub(crate) fn push(&mut self, targets: impl IntoIterator<Item = u32>) {
        self.targets.extend(targets);
        self.starts.push(self.targets.len());
    }

    /// The nodes that one leads to.
    pub(crate) fn of(&self, node: u32) -> &[u32] {
        &self.targets[self.starts[node as usize]..self.starts[node as usize + 1]]
    }

    /// The strongly connected components, by Tarjan's algorithm
    /// (<https://doi.org/10.1137/0201010>), with an explicit stack.
    pub(crate) fn components(&self) -> Components {
        let nodes = self.starts.len() - 1;
        let mut search = Search {
            edges: self,
            number: vec![0; nodes],
            lowest: vec![0; nodes],
            count: 0,
            open: Vec::new(),
            path: Vec::new(),
            found: Components { of: vec![NONE; nodes], order: Vec::with_capacity(nodes), count: 0 },
        };
        for node in 0..nodes {
            // There are fewer nodes than a `u32` counts.
            search.from(u32::try_from(node).unwrap_or(NONE));
        }
        search.found
    }
}

const NONE: u32 = u32::MAX;

/// Which nodes lead to each other.
pub(crate) struct Components {
    /// Number of the component of each node.
    pub(crate) of: Vec<u32>,
    /// The nodes, each after those that it leads to, except for its own component.
    pub(crate) order: Vec<u32>,
    count: u32,
}

impl Components {
    /// The components that have a cycle: those of several nodes, and of one
    /// that leads to itself.
    pub(crate) fn circles(&self, edges: &Edges) -> Vec<Vec<u32>> {
        let same = |a: &u32, b: &u32| self.of[*a as usize] == self.of[*b as usize];
        let is_circle = |nodes: &&[u32]| nodes.len() > 1 || edges.of(nodes[0]).contains(&nodes[0]);
        self.order.chunk_by(same).filter(is_circle).map(<[u32]>::to_vec).collect()
    }
}

struct Search<'e> {
    edges: &'e Edges,
    /// Order in which the nodes were met, from 1.
    number: Vec<u32>,
    /// The lowest number of an open node that each leads back to.
    lowest: Vec<u32>,
    count: u32,
    /// Nodes whose component is not known yet.
    open: Vec<u32>,
    /// The nodes on the way, and the next edge of each.
    path: Vec<(u32, usize)>,
    found: Components,
}

impl Search<'_> {
    fn enter(&mut self, node: u32) {
        self.count += 1;
        self.number[node as usize] = self.count;
        self.lowest[node as usize] = self.count;
        self.open.push(node);
        self.path.push((node, 0));
    }

    fn from(&mut self, root: u32) {
        if self.number[root as usize] != 0 {
            return;
        }
        self.enter(root);
        while let Some((node, next)) = self.path.last_mut() {
            let node = *node;
            if let Some(target) = self.edges.of(node).get(*next) {
                *next += 1;
                let target = *target;
                if self.number[target as usize] == 0 {
                    self.enter(target);
                } else if self.found.of[target as usize] == NONE {
                    let number = self.number[target as usize];
                    self.lowest[node as usize] = self.lowest[node as usize].min(number);
                }
                continue;
            }
            self.path.pop();
            let lowest = self.lowest[node as usize];
            if let Some((outer, _)) = self.path.last() {
                let outer = *outer as usize;
                self.lowest[outer] = self.lowest[outer].min(lowest);
            }
            if lowest == self.number[node as usize] {
                self.close(node);
            }
        }
    }

    /// Ends the component whose first node this is.
    fn close(&mut self, first: u32) {
        while let Some(node) = self.open.pop() {
            self.found.of[node as usize] = self.found.count;
            self.found.order.push(node);
            if node == first {
                break;
            }
        }
        self.found.count += 1;
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

    /// Which node reaches which, the slow way.
    fn reach(graph: &[Vec<u32>]) -> Vec<Vec<bool>> {
        let nodes = graph.len();
        let mut reach = vec![vec![false; nodes]; nodes];
        for (from, targets) in graph.iter().enumerate() {
            targets.iter().for_each(|to| reach[from][*to as usize] = true);
        }
        for via in 0..nodes {
            for from in 0..nodes {
                for to in 0..nodes {
                    reach[from][to] |= reach[from][via] && reach[via][to];
                }
            }
        }
        reach
    }

    #[test]
    fn components_are_those_that_lead_to_each_other() {
        for graph in graphs() {
            let mut edges = Edges::new(graph.len());
            graph.iter().for_each(|targets| edges.push(targets.iter().copied()));
            let found = edges.components();
            let reach = reach(&graph);
            for a in 0..graph.len() {
                for b in 0..graph.len() {
                    let leads = |from: usize, to: usize| reach[from][to];
                    let together = a == b || leads(a, b) && leads(b, a);
                    assert_eq!(found.of[a] == found.of[b], together, "{graph:?}");
                }
            }
            let place = |node: usize| found.order.iter().position(|n| *n as usize == node);
            for (from, targets) in graph.iter().enumerate() {
                for to in targets.iter().map(|to| *to as usize) {
                    let behind = found.of[from] == found.of[to] || place(to) < place(from);
                    assert!(behind, "{graph:?}");
                }
            }
            let in_circles: usize = found.circles(&edges).iter().map(Vec::len).sum();
            assert_eq!(in_circles, (0..graph.len()).filter(|node| reach[*node][*node]).count());
        }
    }
}
