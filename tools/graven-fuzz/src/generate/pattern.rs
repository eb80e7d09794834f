//! Random patterns.

use super::{Generator, Kind, Variable, all_of, bare};
use crate::graph::{LABELS, TYPES, property};
use crate::query::{
    Direction, Expr, Group, Labels, Length, NodePattern, Op, Path, Quantifier, RelPattern, Shape,
};
use crate::value::V;

impl Generator<'_> {
    /// A path with what it brings put into scope.
    pub(super) fn path(&mut self) -> Path {
        let start = self.node(true);
        let mut steps = Vec::new();
        for _ in 0..self.random.below(3) {
            if self.nodes_left == 0 {
                break;
            }
            let rel = match self.random.chance(6) {
                true => self.group(),
                false => self.relationship(true),
            };
            steps.push((rel, self.node(true)));
        }
        let var =
            (!steps.is_empty() && self.random.chance(15)).then(|| self.bind(Kind::Path, false));
        Path {
            var,
            shape: Shape::Plain,
            start,
            steps,
        }
    }

    /// A path from a bound node, if there is one, that binds nothing which stays.
    pub(super) fn inner_path(&mut self, binds: bool) -> Path {
        let start = match self.variable(|v| v.kind == Kind::Node) {
            Some(node) => bare(node.name),
            None => self.node(binds),
        };
        let mut steps = Vec::new();
        for _ in 0..=usize::from(self.random.chance(30)) {
            let rel = self.relationship(binds);
            steps.push((rel, self.node(binds)));
        }
        Path {
            var: None,
            shape: Shape::Plain,
            start,
            steps,
        }
    }

    /// A shortest path between two bound nodes.
    pub(super) fn shortest(&mut self) -> Option<Path> {
        let left = self.variable(|v| v.kind == Kind::Node)?;
        let right = self.variable(|v| v.kind == Kind::Node && v.name != left.name)?;
        let all = self.random.chance(50);
        let low = self.random.below(2);
        let rel = RelPattern {
            var: None,
            types: self.types(),
            direction: self.direction(),
            length: Length::Star(low, 1 + self.random.below(4)),
            properties: Vec::new(),
        };
        let kind = if all { Kind::Path } else { Kind::ShortPath };
        Some(Path {
            var: Some(self.bind(kind, false)),
            shape: if all {
                Shape::AllShortest
            } else {
                Shape::Shortest
            },
            start: bare(left.name),
            steps: vec![(rel, bare(right.name))],
        })
    }

    /// What `WHERE` asks of the path of a function, which decides which paths there are to choose
    /// the shortest from.
    pub(super) fn asked_of(&mut self, path: &Path) -> Option<Expr> {
        let var = path.var.clone().filter(|_| self.random.chance(60))?;
        let one = self.asked_of_path(&var);
        Some(match self.random.below(4) {
            0 => Expr::Binary(Op::Or, Box::new(one), Box::new(self.asked_of_path(&var))),
            1 => all_of(one, self.asked_of_path(&var)),
            _ => one,
        })
    }

    fn asked_of_path(&mut self, var: &str) -> Expr {
        let path = Expr::Var(var.to_owned());
        if self.random.chance(35) {
            let op = *self
                .random
                .pick(&[Op::Less, Op::Greater, Op::Equal, Op::Different]);
            let bound = Expr::Literal(V::Int(self.random.between(0, 4)));
            let length = Expr::Call("length", vec![path]);
            return Expr::Binary(op, Box::new(length), Box::new(bound));
        }
        let all = [
            Quantifier::All,
            Quantifier::Any,
            Quantifier::None,
            Quantifier::Single,
        ];
        let quantifier = *self.random.pick(&all);
        let (part, kind) = *self
            .random
            .pick(&[("nodes", Kind::Node), ("relationships", Kind::Rel)]);
        let each = self.name();
        self.scope.push(Variable {
            name: each.clone(),
            kind,
            nullable: false,
        });
        let property = Expr::Property(Box::new(Expr::Var(each.clone())), "a");
        let condition = match self.random.chance(70) {
            true => {
                let op = *self.random.pick(&[Op::Less, Op::Greater, Op::Equal]);
                let value = Expr::Literal(V::Int(self.random.between(-1, 3)));
                Expr::Binary(op, Box::new(property), Box::new(value))
            }
            false => self.comparison(),
        };
        self.scope.pop();
        let parts = Box::new(Expr::Call(part, vec![path]));
        Expr::Quantified(quantifier, each, parts, Box::new(condition))
    }

    /// Shortest paths between each two ends, whatever they are.
    pub(super) fn shortest_of_ends(&mut self) -> Path {
        let start = self.node(true);
        let low = self.random.below(3);
        let rel = RelPattern {
            var: None,
            types: self.types(),
            direction: self.direction(),
            length: Length::Braces(low, low.max(1) + self.random.below(3)),
            properties: Vec::new(),
        };
        let end = self.node(true);
        let (shape, kind) = match self.random.below(4) {
            0 => (Shape::Groups(1), Kind::Path),
            1 => (Shape::Groups(2), Kind::Path),
            _ => (Shape::Some(1 + self.random.below(3)), Kind::ShortPath),
        };
        Path {
            var: Some(self.bind(kind, false)),
            shape,
            start,
            steps: vec![(rel, end)],
        }
    }

    /// A repeated pattern of one or two relationships, whose names are lists outside. What it
    /// demands may look at what was there before the clause, and at nodes and single relationships
    /// of it, not at its lists.
    fn group(&mut self) -> RelPattern {
        let reuses = std::mem::replace(&mut self.reuses, false);
        let mut seen = self.scope.clone();
        seen.retain(|v| {
            let earlier = self.before.iter().any(|before| before.name == v.name);
            earlier || matches!(v.kind, Kind::Node | Kind::Rel)
        });
        let mut outer = std::mem::replace(&mut self.scope, seen);
        let inner = self.scope.len();
        let start = self.inner_node();
        let mut steps = Vec::new();
        for _ in 0..=usize::from(self.random.chance(70)) {
            let var = self.random.chance(60).then(|| self.bind(Kind::Rel, false));
            let rel = RelPattern {
                var,
                types: self.types(),
                direction: self.direction(),
                length: Length::One,
                properties: self.some_properties(),
            };
            steps.push((rel, self.inner_node()));
        }
        let filter = match self.random.below(10) {
            0..=2 => Some(self.comparison()),
            3 => Some(self.condition(2)),
            _ => None,
        };
        let list = |v: Variable| Variable {
            kind: if v.kind == Kind::Node {
                Kind::Nodes
            } else {
                Kind::Rels
            },
            ..v
        };
        outer.extend(self.scope.split_off(inner).into_iter().map(list));
        self.scope = outer;
        self.reuses = reuses;
        let low = self.random.below(3);
        let high = (low + self.random.below(3)).clamp(1, 3);
        RelPattern {
            var: None,
            types: Vec::new(),
            direction: Direction::Out,
            length: Length::Group(Box::new(Group {
                start,
                steps,
                filter,
                low,
                high,
            })),
            properties: Vec::new(),
        }
    }

    fn inner_node(&mut self) -> NodePattern {
        let labels = match self.random.below(6) {
            0 => Labels::All(vec![*self.random.pick(LABELS)]),
            1 => Labels::OneOf(vec!["B", "C"]),
            _ => Labels::Any,
        };
        let properties = self.some_properties();
        let var = self.random.chance(60).then(|| self.bind(Kind::Node, false));
        NodePattern {
            var,
            labels,
            properties,
        }
    }

    fn node(&mut self, binds: bool) -> NodePattern {
        if let Some(node) = self.variable(|v| v.kind == Kind::Node)
            && self.random.chance(25)
        {
            return bare(node.name);
        }
        self.nodes_left = self.nodes_left.saturating_sub(1);
        let label = *self.random.pick(LABELS);
        let labels = match self.random.below(12) {
            0..=4 => Labels::Any,
            5..=7 => Labels::All(vec![label]),
            8 => Labels::All(vec!["A", "B"]),
            9 => Labels::OneOf(vec!["B", "C"]),
            10 => Labels::Not(label),
            _ => Labels::Some,
        };
        let properties = self.some_properties();
        let var = (binds && self.random.chance(80)).then(|| self.bind(Kind::Node, false));
        NodePattern {
            var,
            labels,
            properties,
        }
    }

    fn some_properties(&mut self) -> Vec<(&'static str, Expr)> {
        if !self.random.chance(12) {
            return Vec::new();
        }
        if self.random.chance(40) {
            let depth = 1 + self.random.below(3);
            let (kind, key) = self.stored();
            return vec![(key, self.expression(kind, depth))];
        }
        let key = *self.random.pick(&["a", "s", "m", "d"]);
        let value = property(self.random, key);
        value.map(|v| (key, Expr::Literal(v))).into_iter().collect()
    }

    fn types(&mut self) -> Vec<&'static str> {
        match self.random.below(6) {
            0 | 1 => Vec::new(),
            2 => vec!["R", "T"],
            _ => vec![*self.random.pick(TYPES)],
        }
    }

    fn direction(&mut self) -> Direction {
        *self
            .random
            .pick(&[Direction::Out, Direction::In, Direction::Both])
    }

    fn relationship(&mut self, binds: bool) -> RelPattern {
        let low = self.random.below(3);
        let high = (low + self.random.below(3)).clamp(1, 3);
        let length = match self.random.below(12) {
            0 | 1 => Length::Star(low, high),
            2 => Length::Braces(low, high),
            _ => Length::One,
        };
        let (types, direction) = (self.types(), self.direction());
        let properties = match length {
            Length::Braces(..) => Vec::new(),
            _ if self.random.chance(50) => Vec::new(),
            _ => self.some_properties(),
        };
        let kind = match length {
            Length::One => Kind::Rel,
            _ => Kind::Rels,
        };
        let earlier: Vec<String> = self
            .before
            .iter()
            .filter(|v| v.kind == Kind::Rel)
            .filter(|v| {
                let mut own = self.scope.iter();
                own.any(|own| own.name == v.name && own.kind == v.kind)
            })
            .map(|v| v.name.clone())
            .collect();
        if binds && length == Length::One && !earlier.is_empty() && self.random.chance(8) {
            let name = self.random.pick(&earlier).clone();
            // All relationships of a `MATCH` differ: it stands there once.
            self.before.retain(|v| v.name != name);
            return RelPattern {
                var: Some(name),
                types,
                direction,
                length,
                properties,
            };
        }
        let named = binds && self.random.chance(45);
        let var = named.then(|| self.bind(kind, false));
        RelPattern {
            var,
            types,
            direction,
            length,
            properties,
        }
    }
}
